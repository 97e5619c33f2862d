// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// topologySpread returns the constraints in the spec. By default, it spreads nodes over hosts and zones as far as possible, so that
// the loss of a host or zone costs the least.
func topologySpread(mc *cachev1alpha1.Memcached) []corev1.TopologySpreadConstraint {
	rollout := appsv1.DefaultDeploymentUniqueLabelKey
	if memcached.IsStatefulSet(mc) {
		rollout = appsv1.ControllerRevisionHashLabelKey
	}
	return render.TopologySpread(mc.Spec.Scheduling.TopologySpreadConstraints, memcached.SelectorLabels(mc), rollout)
}
