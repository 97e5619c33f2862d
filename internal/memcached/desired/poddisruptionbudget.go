// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// PodDisruptionBudget returns a budget that, by default, lets a drain evict one node at a time. Nodes that are not ready can always
// be evicted: they serve nobody, and would otherwise block the drain for ever.
func PodDisruptionBudget(mc *cachev1alpha1.Memcached) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      mc.Name,
			Namespace: mc.Namespace,
			Labels:    labelsOf(mc, nil),
		},
		Spec: render.PodDisruptionBudget(mc.Spec.PodDisruptionBudget, memcached.SelectorLabels(mc)),
	}
}
