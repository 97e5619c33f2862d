// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply/field"
	"github.com/example/memcached-operator/internal/memcached"
)

type row = memcached.Child[*cachev1alpha1.MemcachedProxy]

// Children has one row for each Kind of object that the operator creates for a MemcachedProxy.
var Children = []row{
	memcached.NewChild(row{
		Kind:     corev1.SchemeGroupVersion.WithKind("Service"),
		Fields:   field.Rules{Owned: [][]string{{"spec", "publishNotReadyAddresses"}, {"spec", "ports"}, {"spec", "sessionAffinity"}}},
		Expected: wasCarriedOut,
	}, func(s *corev1.Service) any { return &s.Spec }),
	memcached.NewChild(row{
		Kind:     policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		Fields:   field.Rules{Owned: [][]string{{"spec"}}},
		Expected: unwantedBudget,
	}, func(b *policyv1.PodDisruptionBudget) any { return &b.Spec }),
	memcached.NewChild(row{
		Kind:     networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		Fields:   field.Rules{Owned: [][]string{{"spec"}}, Guard: true},
		Expected: func(*cachev1alpha1.MemcachedProxy) bool { return false },
	}, func(p *networkingv1.NetworkPolicy) any { return &p.Spec }),
	memcached.NewChild(row{
		Kind:     corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Suffix:   RoutesSuffix,
		Fields:   memcached.ConfigMapFields,
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

// unwantedBudget reports whether the spec has changed since the last status, and asks for no PodDisruptionBudget. A budget from before the
// change may still exist, and must be deleted.
func unwantedBudget(proxy *cachev1alpha1.MemcachedProxy) bool {
	observed := proxy.Status.ObservedGeneration
	return observed > 0 && observed != proxy.Generation && !wantsBudget(proxy)
}

func wantsBudget(proxy *cachev1alpha1.MemcachedProxy) bool {
	return ptr.Deref(proxy.Spec.PodDisruptionBudget.Enabled, true)
}
