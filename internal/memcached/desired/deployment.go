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
)

// deployment returns the Deployment that runs the nodes. A node that is replaced gets a new name.
func deployment(
	mc *cachev1alpha1.Memcached, metadata metav1.ObjectMeta, template corev1.PodTemplateSpec,
) *appsv1.Deployment {
	surge, unavailable := updateLimits(mc)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metadata,
		Spec: appsv1.DeploymentSpec{
			Replicas:        &mc.Spec.Size,
			Selector:        &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			MinReadySeconds: mc.Spec.UpdateStrategy.MinReadySeconds,
			// A rollback cannot restore the items of a cache. One old ReplicaSet is enough to show what has changed.
			RevisionHistoryLimit:    ptr.To(int32(1)),
			ProgressDeadlineSeconds: ptr.To(memcached.ProgressDeadlineSeconds(mc)),
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       &surge,
					MaxUnavailable: &unavailable,
				},
			},
			Template: template,
		},
	}
}
