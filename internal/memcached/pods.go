// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodReady reports whether a pod is ready.
func PodReady(pod *corev1.Pod) bool {
	condition := PodCondition(pod, corev1.PodReady)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

// PodCondition returns the condition of a type, nil if there is none.
func PodCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// ContainerStatuses are those that can say why a pod is not ready. Others may have put containers into it, also such as run
// first (spec.initContainers): of those, the ones that have done their work say nothing.
func ContainerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Status.InitContainerStatuses {
		if exit := container.State.Terminated; exit == nil || exit.ExitCode != 0 {
			statuses = append(statuses, container)
		}
	}
	return append(statuses, pod.Status.ContainerStatuses...)
}

// HasAgent reports whether an agent observes memcached in a pod.
func HasAgent(pod *corev1.Pod) bool {
	return slices.ContainsFunc(ContainerStatuses(pod), func(container corev1.ContainerStatus) bool {
		return container.Name == AgentContainerName
	})
}

// FailedAt is when a pod failed, as far as the pod shows: when the last of its conditions changed or the last of its containers
// ended. One that the kubelet did not admit has failed when it was created.
func FailedAt(pod *corev1.Pod) metav1.Time {
	failed := pod.CreationTimestamp
	for i := range pod.Status.Conditions {
		failed = latest(failed, pod.Status.Conditions[i].LastTransitionTime)
	}
	for i := range pod.Status.ContainerStatuses {
		if exit := pod.Status.ContainerStatuses[i].State.Terminated; exit != nil {
			failed = latest(failed, exit.FinishedAt)
		}
	}
	return failed
}

func latest(a, b metav1.Time) metav1.Time {
	if a.Before(&b) {
		return b
	}
	return a
}
