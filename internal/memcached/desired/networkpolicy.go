// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// NetworkPolicy returns a policy that admits only clients. Clients are the peers in the spec, or by default all pods of the namespace. To
// the nodes of a StatefulSet, it also admits scrapers of metrics, with the same default, the operator, which asks launchers and agents,
// and twins that fill their nodes from these nodes.
func NetworkPolicy(v memcached.View) *networkingv1.NetworkPolicy {
	mc := v.Memcached
	var clients []int32
	for _, port := range memcached.ClientPorts(mc) {
		clients = append(clients, port.Number)
	}
	wanted := ptr.Deref(mc.Spec.NetworkPolicy, cachev1alpha1.MemcachedNetworkPolicy{})
	rules := []networkingv1.NetworkPolicyIngressRule{render.IngressRule(wanted.From, clients...)}
	if memcached.IsStatefulSet(mc) {
		rules = append(rules, render.IngressRule(wanted.MetricsFrom, memcached.MetricsPort),
			render.OperatorRule(memcached.NameLabel, memcached.ManagedBy, memcached.LauncherPort, memcached.MetricsPort))
	}
	if twins := fillingTwins(v); len(twins) > 0 && len(wanted.From) > 0 {
		rules = append(rules, networkingv1.NetworkPolicyIngressRule{From: twins, Ports: render.TCPPorts(memcached.Port)})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      mc.Name,
			Namespace: mc.Namespace,
			Labels:    labelsOf(mc, nil),
		},
		Spec: render.NetworkPolicy(memcached.SelectorLabels(mc), rules),
	}
}

// fillingTwins returns the pods of the Memcacheds that fill their nodes from this one.
func fillingTwins(v memcached.View) []networkingv1.NetworkPolicyPeer {
	var peers []networkingv1.NetworkPolicyPeer
	for _, twin := range v.Copies() {
		if memcached.FillsFrom(twin.Memcached) == v.Memcached.Name {
			selector := &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(twin.Memcached)}
			peers = append(peers, networkingv1.NetworkPolicyPeer{PodSelector: selector})
		}
	}
	return peers
}
