// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"time"

	corev1 "k8s.io/api/core/v1"
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
