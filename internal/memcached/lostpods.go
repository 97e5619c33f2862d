// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// evictedByTaint is the reason with which Kubernetes evicts the pods of a cluster node that has a NoExecute taint, such as one
// that no longer reports (k8s.io/kubernetes/pkg/controller/tainteviction).
const evictedByTaint = "DeletionByTaintManager"

// lostPodMargin is how long after its grace period a pod counts as lost. A working kubelet needs some seconds to kill containers
// and report it, and the clocks of API servers differ.
const lostPodMargin = 10 * time.Second

// LostPods returns the evicted pods of a StatefulSet that keep their names because nothing on their cluster node ends them. Next is how
// long it takes until there is another one, 0 for never: no event comes when a grace period ends. It goes by the time of the view, the API
// server's: by a clock that is ahead, pods of living cluster nodes would seem lost.
//
// Kubernetes promises that no two pods of a StatefulSet have the same name, so it waits until the kubelet confirms that a pod has stopped.
// The kubelet of a lost cluster node never does. A cache has no data that two pods of one name could corrupt. The pods of a Deployment are
// never lost: their replacements have other names and do not wait. Neither are those of a paused Memcached, for which the operator writes
// nothing, and of one that is being deleted, which get no replacements.
func (v View) LostPods() (lost []*corev1.Pod, next time.Duration) {
	if v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil {
		return nil, 0
	}
	for i := range v.Pods {
		pod := &v.Pods[i]
		if !evictedByTaints(pod) || !inStatefulSet(pod, v.Workload, v.Former) {
			continue
		}
		wait := pod.DeletionTimestamp.Add(lostPodMargin).Sub(v.Now)
		if wait <= 0 {
			lost = append(lost, pod)
		} else if next == 0 || wait < next {
			next = wait
		}
	}
	return lost, next
}

// inStatefulSet reports whether a pod belongs to one of the workloads that is a StatefulSet.
func inStatefulSet(pod *corev1.Pod, workloads ...*Workload) bool {
	return slices.ContainsFunc(workloads, func(w *Workload) bool {
		return w != nil && w.Kind == cachev1alpha1.WorkloadStatefulSet && w.Owns(pod)
	})
}

// evictedByTaints reports whether a pod is being evicted because of a taint, with a grace period. Without one, the pod has been
// deleted by force, and only finalizers keep it.
func evictedByTaints(pod *corev1.Pod) bool {
	condition := PodCondition(pod, corev1.DisruptionTarget)
	return pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) > 0 &&
		condition != nil && condition.Status == corev1.ConditionTrue && condition.Reason == evictedByTaint
}
