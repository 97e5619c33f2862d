// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// NetworkPolicy returns a policy that admits only clients, scrapers of metrics, and the operator, which asks the launchers. Clients and
// scrapers are the peers in the spec, or by default all pods of the namespace.
func NetworkPolicy(proxy *cachev1alpha1.MemcachedProxy) *networkingv1.NetworkPolicy {
	var clients []int32
	for _, port := range memcached.PortsWith(proxy.Spec.TLS) {
		clients = append(clients, port.Number)
	}
	wanted := ptr.Deref(proxy.Spec.NetworkPolicy, cachev1alpha1.MemcachedNetworkPolicy{})
	rules := []networkingv1.NetworkPolicyIngressRule{
		render.IngressRule(wanted.From, clients...), render.IngressRule(wanted.MetricsFrom, memcached.MetricsPort),
		render.OperatorRule(memcached.NameLabel, memcached.ManagedBy, memcached.LauncherPort),
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: proxy.Name, Namespace: proxy.Namespace, Labels: labelsOf(proxy, nil)},
		Spec:       render.NetworkPolicy(SelectorLabels(proxy), rules),
	}
}
