// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// PodReady reports whether a pod is ready and its memcached and agent have started. The condition Ready is not enough: for a moment
// after a container restarts, the kubelet still reports the pod as ready because of earlier probes.
func PodReady(pod *corev1.Pod) bool {
	condition := PodCondition(pod, corev1.PodReady)
	return condition != nil && condition.Status == corev1.ConditionTrue &&
		!starting(StatusOf(pod, ContainerName)) && !starting(StatusOf(pod, AgentContainerName))
}

// CutOff reports whether a pod is not ready although its containers are. Usually, its cluster node has lost contact with the API
// server. The other possible cause is a readiness gate that somebody has added. Clients may still reach memcached, which keeps its
// items.
func CutOff(pod *corev1.Pod) bool {
	ready, containers := PodCondition(pod, corev1.PodReady), PodCondition(pod, corev1.ContainersReady)
	return ready != nil && ready.Status != corev1.ConditionTrue && containers != nil && containers.Status == corev1.ConditionTrue
}

// clockMargin covers the difference between the clocks of the API server and the kubelets.
const clockMargin = 5 * time.Second

// UntilAvailable returns how much longer a pod must stay ready until it has been ready for minReadySeconds. It returns 0 if the pod is
// not ready.
func (v View) UntilAvailable(pod *corev1.Pod) time.Duration {
	minimum, ready := v.Memcached.Spec.UpdateStrategy.MinReadySeconds, PodCondition(pod, corev1.PodReady)
	if minimum == 0 || ready == nil || ready.Status != corev1.ConditionTrue {
		return 0
	}
	available := ready.LastTransitionTime.Add(time.Duration(minimum)*time.Second + clockMargin)
	return max(0, available.Sub(v.Now))
}

func starting(container *corev1.ContainerStatus) bool {
	return container != nil && container.Started != nil && !*container.Started
}

// PodCondition returns the condition of this type, or nil if there is none.
func PodCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// ContainerStatuses returns the statuses of a pod's containers and init containers, without init containers that have succeeded.
func ContainerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Status.InitContainerStatuses {
		if exit := container.State.Terminated; exit == nil || exit.ExitCode != 0 {
			statuses = append(statuses, container)
		}
	}
	return append(statuses, pod.Status.ContainerStatuses...)
}

// FailedAt returns when a pod failed: the last change of its conditions or the last end of a container, whichever is later. For a pod with
// neither, such as a pod that the kubelet did not admit, it returns the time of creation.
func FailedAt(pod *corev1.Pod) time.Time {
	failed := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		failed = Later(failed, pod.Status.Conditions[i].LastTransitionTime.Time)
	}
	for i := range pod.Status.ContainerStatuses {
		if exit := pod.Status.ContainerStatuses[i].State.Terminated; exit != nil {
			failed = Later(failed, exit.FinishedAt.Time)
		}
	}
	return failed
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// evictedByTaint is the reason in the condition DisruptionTarget of a pod that was evicted from a cluster node with a NoExecute
// taint. Kubernetes taints a cluster node that stops reporting (k8s.io/kubernetes/pkg/controller/tainteviction).
const evictedByTaint = "DeletionByTaintManager"

// lostPodMargin is the time from the end of a pod's grace period until the pod counts as lost. A working kubelet needs some seconds
// to kill containers and to report that. Also, the clocks of API servers differ.
const lostPodMargin = 10 * time.Second

// LostIn returns how long to wait until an evicted pod counts as lost, 0 if it is lost. Found is false if the pod can never count as lost.
// No kubelet will stop a lost pod, because its cluster node is lost. Kubernetes creates no replacement in a StatefulSet until such a pod is
// deleted by force. Its deletion is safe: a cache has no data that two pods of one name could corrupt. A pod with a grace period of 0 was
// already deleted by force, and only finalizers keep it.
func LostIn(pod *corev1.Pod, now time.Time) (wait time.Duration, found bool) {
	condition := PodCondition(pod, corev1.DisruptionTarget)
	if pod.DeletionTimestamp == nil || ptr.Deref(pod.DeletionGracePeriodSeconds, 0) == 0 ||
		condition == nil || condition.Status != corev1.ConditionTrue || condition.Reason != evictedByTaint {
		return 0, false
	}
	// now is the API server's time. With a local clock that is ahead, pods on healthy cluster nodes would count as lost.
	return max(0, pod.DeletionTimestamp.Add(lostPodMargin).Sub(now)), true
}

// ContainerOf returns the container or init container of this name, or nil.
func ContainerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return nil
}

// LimitOf returns the memory limit of memcached's container in bytes, 0 for none.
func LimitOf(spec *corev1.PodSpec) int64 {
	if container := ContainerOf(spec, ContainerName); container != nil {
		return container.Resources.Limits.Memory().Value()
	}
	return 0
}

// StatusOf returns the status of a container or init container, or nil if there is none.
func StatusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}

// LastExit returns the last exit of a container, or nil if it has never exited.
func LastExit(status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if exit := status.State.Terminated; exit != nil {
		return exit
	}
	return status.LastTerminationState.Terminated
}

// PullFailure returns why the image of a container cannot be pulled, or "". The message stays the same while the kubelet tries again and
// again.
func PullFailure(container *corev1.ContainerStatus) string {
	if container == nil || container.State.Waiting == nil {
		return ""
	}
	waiting := container.State.Waiting
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable", "SignatureValidationFailed":
	default:
		return ""
	}
	if waiting.Message == "" {
		return waiting.Reason
	}
	return backOff.ReplaceAllLiteralString(waiting.Message, "")
}

// backOff matches the prefix that the kubelet adds to the cause while it waits for its next attempt
// (pkg/kubelet/images/image_manager.go).
var backOff = regexp.MustCompile(`^Back-off pulling image "[^"]*": \w+: `)
