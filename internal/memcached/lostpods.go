// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// evictedByTaint is the reason in the condition DisruptionTarget of a pod that was evicted from a cluster node with a NoExecute
// taint. Kubernetes taints a cluster node that stops reporting (k8s.io/kubernetes/pkg/controller/tainteviction).
const evictedByTaint = "DeletionByTaintManager"

// lostPodMargin is the time from the end of a pod's grace period until the pod counts as lost. A working kubelet needs some seconds
// to kill containers and to report that. Also, the clocks of API servers differ.
const lostPodMargin = 10 * time.Second

// LostPods returns evicted pods of a StatefulSet. No kubelet will ever stop them, because their cluster nodes are lost. Kubernetes creates
// no replacement until such a pod is deleted by force. Its deletion is safe: a cache has no data that two pods of one name could corrupt.
// Next is the time until another pod counts as lost, or 0 if none will. A Memcached that is paused or being deleted has no lost pods.
func (v View) LostPods() (lost []*corev1.Pod, next time.Duration) {
	if v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil {
		return nil, 0
	}
	for i := range v.Pods {
		pod := &v.Pods[i]
		if !evictedByTaints(pod) || !inStatefulSet(pod, v.Workload) {
			continue
		}
		// v.Now is the API server's time. With a local clock that is ahead, pods on healthy cluster nodes would count as lost.
		wait := pod.DeletionTimestamp.Add(lostPodMargin).Sub(v.Now)
		if wait <= 0 {
			lost = append(lost, pod)
		}
		next = Sooner(next, max(wait, 0))
	}
	return lost, next
}

// inStatefulSet reports whether the workload is a StatefulSet and owns the pod. Pods of a Deployment are never lost, because their
// replacements have other names and do not wait for them.
func inStatefulSet(pod *corev1.Pod, w *Workload) bool {
	return w != nil && w.Kind == cachev1alpha1.WorkloadStatefulSet && w.Owns(pod)
}

// evictedByTaints reports whether a taint has evicted the pod. A pod with a grace period of 0 does not count: it was already deleted
// by force, and only finalizers keep it.
func evictedByTaints(pod *corev1.Pod) bool {
	condition := PodCondition(pod, corev1.DisruptionTarget)
	return pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) > 0 &&
		condition != nil && condition.Status == corev1.ConditionTrue && condition.Reason == evictedByTaint
}
