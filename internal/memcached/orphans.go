// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Orphans returns the nodes whose workload was deleted with --cascade=orphan, sorted by name, with node 10 after node 9. The
// Service still selects these nodes. The pods of a ReplicaSet that remains from a deleted Deployment count, too.
func (v View) Orphans() []*corev1.Pod {
	deployment := findWorkload(v.Children, func(w *Workload) bool { return w.Kind == cachev1alpha1.WorkloadDeployment })
	return nodesOf(v.Pods, func(pod *corev1.Pod) bool {
		return pod.Labels[NameLabel] == nodeName && // as in the selector of the Service
			(metav1.GetControllerOfNoCopy(pod) == nil || deployment == nil && ownedByDeployment(pod, pod.Labels[InstanceLabel]))
	}, true)
}

// NumberedNodes returns the orphaned nodes, and the pods of a StatefulSet with the Memcached's name. The StatefulSet itself may be missing
// from the cache, or belong to an earlier Memcached of that name. Its pods count nevertheless, because the Memcached may adopt the
// StatefulSet at any time. Some orphaned nodes have no number.
func (v View) NumberedNodes() []*corev1.Pod {
	return append(nodesOf(v.Pods, func(pod *corev1.Pod) bool { return ownedByStatefulSet(pod, v.Memcached.Name) }, true), v.Orphans()...)
}
