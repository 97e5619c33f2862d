// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply/field"
	"github.com/example/memcached-operator/internal/memcached"
)

type row = memcached.Child[*cachev1alpha1.MemcachedProxy]

// Children has one row for each Kind of object that the operator creates for a MemcachedProxy.
var Children = []row{
	memcached.NewChild(row{
		Kind:   corev1.SchemeGroupVersion.WithKind("Service"),
		Fields: field.Rules{Owned: [][]string{{"spec", "publishNotReadyAddresses"}, {"spec", "ports"}, {"spec", "sessionAffinity"}}},
	}, func(s *corev1.Service) any { return &s.Spec }),
	memcached.BudgetChild(func(proxy *cachev1alpha1.MemcachedProxy) (cachev1alpha1.MemcachedPodDisruptionBudget, int64) {
		return proxy.Spec.PodDisruptionBudget, proxy.Status.ObservedGeneration
	}),
	memcached.PolicyChild[*cachev1alpha1.MemcachedProxy](),
	memcached.NewChild(row{
		Kind:     corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Suffix:   RoutesSuffix,
		Fields:   field.Rules{Owned: memcached.ConfigMapFields.Owned, Guard: true}, // no proxy may start with the routes of somebody else
		Expected: func(proxy *cachev1alpha1.MemcachedProxy) bool { return proxy.Status.Routes != nil },
	}, memcached.ConfigMapData),
	memcached.NewChild(row{
		Kind:     appsv1.SchemeGroupVersion.WithKind("Deployment"),
		Workload: true,
		Fields:   memcached.DeploymentFields,
		Expected: wasCarriedOut,
	}, func(d *appsv1.Deployment) any { return &d.Spec }),
}

func wasCarriedOut(proxy *cachev1alpha1.MemcachedProxy) bool { return proxy.Status.Image != "" }
