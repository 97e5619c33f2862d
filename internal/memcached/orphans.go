// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Orphans returns the nodes without a workload, sorted by number or name: its owner was deleted with --cascade=orphan. The Service
// still selects them. A ReplicaSet without a Deployment keeps replacing its pods.
func (v View) Orphans() []*corev1.Pod {
	deployment := findWorkload(v.Children, func(w *Workload) bool { return w.Kind == cachev1alpha1.WorkloadDeployment })
	return nodesOf(v.Pods, func(pod *corev1.Pod) bool {
		return pod.Labels[NameLabel] == nodeName && // else the Service does not select it
			(metav1.GetControllerOfNoCopy(pod) == nil || deployment == nil && ownedByDeployment(pod, pod.Labels[InstanceLabel]))
	}, true)
}
