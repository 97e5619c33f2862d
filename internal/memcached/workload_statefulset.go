// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// statefulSetWorkload returns a StatefulSet as a Workload, nil for any other object. Overdue stays empty, because
// its controller reports no missed deadlines. It reports refused pods only in events: see Observed.Refused.
func statefulSetWorkload(object client.Object) *Workload {
	set, ok := object.(*appsv1.StatefulSet)
	if !ok || set == nil {
		return nil
	}
	status := set.Status
	return &Workload{
		Object:             set,
		Kind:               cachev1alpha1.WorkloadStatefulSet,
		Size:               ptr.Deref(set.Spec.Replicas, 1),
		Selector:           ptr.Deref(set.Spec.Selector, metav1.LabelSelector{}).MatchLabels,
		Template:           &set.Spec.Template,
		ObservedGeneration: status.ObservedGeneration,
		Replicas:           status.Replicas,
		Updated:            status.UpdatedReplicas,
		Ready:              status.ReadyReplicas,
		Available:          status.AvailableReplicas,
		UpdateRevision:     status.UpdateRevision,
		Owns:               func(pod *corev1.Pod) bool { return ownedByStatefulSet(pod, set.Name) },
	}
}

func ownedByStatefulSet(pod *corev1.Pod, set string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "StatefulSet" && owner.Name == set
}
