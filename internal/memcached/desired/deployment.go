// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// Deployment runs the nodes. The error is an *InvalidError: the memory limit is too small for these pods, or the PriorityClass is
// not for caches. A limit that pods already run with is not questioned again: a stricter model of a later version must not take a
// running cache away.
func Deployment(mc *cachev1alpha1.Memcached, observed memcached.Observed, opts memcached.Options) (*appsv1.Deployment, error) {
	hash := templateHash(mc, opts)
	defaults, adopted := decideDefaults(mc, observed.Workload(mc), opts, hash)
	invalid := errors.Join(checkPriority(mc, opts), checkMemoryLimit(mc, adopted))
	surge, unavailable := updateLimits(mc)
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        mc.Name,
			Namespace:   mc.Namespace,
			Labels:      labelsOf(mc, nil),
			Annotations: defaults.annotations(mc, hash),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:        ptr.To(mc.Spec.Size),
			Selector:        &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			MinReadySeconds: mc.Spec.UpdateStrategy.MinReadySeconds,
			// A memcached node has no state to go back to: one old ReplicaSet is enough to see what changed.
			RevisionHistoryLimit:    ptr.To(int32(1)),
			ProgressDeadlineSeconds: ptr.To(memcached.ProgressDeadlineSeconds(mc)),
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       &surge,
					MaxUnavailable: &unavailable,
				},
			},
			Template: podTemplate(mc, opts, defaults),
		},
	}, invalid
}

// updateLimits are maxSurge and maxUnavailable. Every additional member remaps keys, and again when it leaves: nodes are
// replaced without a surge, unless there is only one. What the user gives is completed so that both are never 0.
func updateLimits(mc *cachev1alpha1.Memcached) (surge, unavailable intstr.IntOrString) {
	wanted := mc.Spec.UpdateStrategy
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	switch {
	case wanted.MaxSurge != nil && wanted.MaxUnavailable != nil:
		return *wanted.MaxSurge, *wanted.MaxUnavailable
	case wanted.MaxSurge != nil && isZero(*wanted.MaxSurge):
		return none, one
	case wanted.MaxSurge != nil:
		return *wanted.MaxSurge, none
	case wanted.MaxUnavailable != nil && isZero(*wanted.MaxUnavailable):
		return one, none
	case wanted.MaxUnavailable != nil:
		return none, *wanted.MaxUnavailable
	case mc.Spec.Size <= 1:
		return one, none
	default:
		return none, one
	}
}

func isZero(value intstr.IntOrString) bool {
	return value.String() == "0" || value.String() == "0%"
}
