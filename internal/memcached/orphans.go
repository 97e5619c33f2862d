// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Orphans returns the nodes of a former workload, sorted by name, with node 10 after node 9. The Service still selects these nodes.
// Somebody has deleted their workload with --cascade=orphan, or their workload is Left. The pods of a ReplicaSet that remains from a
// deleted Deployment count, too.
func (v View) Orphans() []*corev1.Pod {
	deployment := findWorkload(v.Children, func(w *Workload) bool { return w.Kind == cachev1alpha1.WorkloadDeployment })
	left := v.Left()
	return nodesOf(v.Pods, func(pod *corev1.Pod) bool {
		return pod.Labels[NameLabel] == nodeName && // as in the selector of the Service
			(metav1.GetControllerOfNoCopy(pod) == nil || left != nil && left.Owns(pod) ||
				deployment == nil && ownedByDeployment(pod, pod.Labels[InstanceLabel]))
	}, true)
}

// Left returns the workload of the other Kind that a former Memcached of the same name has left, or nil: it was deleted with
// --cascade=orphan, or a backup was restored.
func (v View) Left() *Workload {
	wanted := WorkloadKind(v.Memcached)
	return WorkloadOf(v.Memcached, SelectorLabels(v.Memcached), v.Children, func(w *Workload) bool {
		return w.Kind != wanted && metav1.GetControllerOfNoCopy(w) == nil // the operator deletes one that the Memcached controls
	})
}
