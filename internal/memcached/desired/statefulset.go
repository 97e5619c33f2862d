// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// statefulSet returns the StatefulSet that runs the nodes. Nodes keep their names when they are replaced. They start and stop independently
// of each other.
func statefulSet(mc *cachev1alpha1.Memcached, template corev1.PodTemplateSpec) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: role(mc).Metadata("", cachev1alpha1.Metadata{}),
		Spec: appsv1.StatefulSetSpec{
			Replicas:            &mc.Spec.Size,
			Selector:            &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			ServiceName:         mc.Name,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			MinReadySeconds:     mc.Spec.UpdateStrategy.MinReadySeconds,
			// A rollback cannot restore the items of a cache. One old revision is enough to show what has changed.
			RevisionHistoryLimit: ptr.To(int32(1)),
			// The StatefulSet's controller only creates missing pods. Package rollout decides what happens to the others.
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template:       render.WithAPIDefaults(template),
		},
	}
}
