// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// Service returns the Service that gives clients one address. It leads each connection to a ready proxy.
func Service(proxy *cachev1alpha1.MemcachedProxy) *corev1.Service {
	families := ptr.Deref(proxy.Spec.Service.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: proxy.Name, Namespace: proxy.Namespace, Labels: labelsOf(proxy, proxy.Spec.Service.Labels),
			Annotations: render.Annotations(proxy.Spec.Service.Metadata),
		},
		Spec: corev1.ServiceSpec{
			Type:           corev1.ServiceTypeClusterIP,
			IPFamilyPolicy: &families,
			Selector:       SelectorLabels(proxy),
			// With None, the connections of one client are spread over several proxies.
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports:           memcached.ServicePorts(memcached.PortsWith(proxy.Spec.TLS)),
		},
	}
}

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

// PodDisruptionBudget returns the budget in the spec. By default, a drain can evict one proxy at a time.
func PodDisruptionBudget(proxy *cachev1alpha1.MemcachedProxy) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: proxy.Name, Namespace: proxy.Namespace, Labels: labelsOf(proxy, nil)},
		Spec:       render.PodDisruptionBudget(proxy.Spec.PodDisruptionBudget, SelectorLabels(proxy)),
	}
}

// ConfigMap returns the ConfigMap with this data. The key protocol.RoutesKey holds the routes for the proxies.
func ConfigMap(proxy *cachev1alpha1.MemcachedProxy, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: proxy.Name + RoutesSuffix, Namespace: proxy.Namespace, Labels: labelsOf(proxy, nil)},
		Data:       data,
	}
}
