// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// PodDisruptionBudget lets a drain take one node at a time, whatever the size. A node that is not ready may always be
// evicted: it serves nobody, and would block the drain for good.
func PodDisruptionBudget(mc *cachev1alpha1.Memcached) *policyv1.PodDisruptionBudget {
	wanted := mc.Spec.PodDisruptionBudget
	if wanted.MinAvailable == nil && wanted.MaxUnavailable == nil {
		wanted.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      mc.Name,
			Namespace: mc.Namespace,
			Labels:    labelsOf(mc, nil),
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:                   &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			MinAvailable:               wanted.MinAvailable,
			MaxUnavailable:             wanted.MaxUnavailable,
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}
