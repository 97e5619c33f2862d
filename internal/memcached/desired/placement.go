// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// nodeSelector keeps the nodes off Windows, where the image does not run. The value that the user gives counts, though:
// no field is overruled in silence.
func nodeSelector(mc *cachev1alpha1.Memcached) map[string]string {
	selector := map[string]string{corev1.LabelOSStable: "linux"}
	maps.Copy(selector, mc.Spec.Scheduling.NodeSelector)
	return selector
}

// topologySpread spreads the nodes over hosts and zones as far as possible, so that the loss of one takes as little of
// the cache as possible. The pods of each rollout are spread among themselves. A constraint of the user that does not say
// which pods it is about is about the nodes; Kubernetes would take it for one about none, and it would spread nothing.
func topologySpread(mc *cachev1alpha1.Memcached) []corev1.TopologySpreadConstraint {
	constraints := spreadConstraints(mc.Spec.Scheduling.TopologySpreadConstraints)
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)}
		}
	}
	if len(constraints) > 0 {
		return constraints
	}
	rollout := appsv1.DefaultDeploymentUniqueLabelKey
	if isStatefulSet(mc) {
		rollout = appsv1.ControllerRevisionHashLabelKey
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		constraints = append(constraints, corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			MatchLabelKeys:    []string{rollout},
		})
	}
	return constraints
}
