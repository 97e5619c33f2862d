// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/render"
)

// PodDisruptionBudget returns the budget in the spec. By default, a drain can evict one proxy at a time.
func PodDisruptionBudget(proxy *cachev1alpha1.MemcachedProxy) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: proxy.Name, Namespace: proxy.Namespace, Labels: labelsOf(proxy, nil)},
		Spec:       render.PodDisruptionBudget(proxy.Spec.PodDisruptionBudget, SelectorLabels(proxy)),
	}
}
