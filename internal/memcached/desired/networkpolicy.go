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

// NetworkPolicy returns a policy that admits only clients, scrapers of metrics, the operator, and twins that fill their nodes from
// these nodes. Clients and scrapers are the peers in the spec, or by default all pods of the namespace. Without monitoring, only
// peers in the spec may scrape.
func NetworkPolicy(v memcached.View) *networkingv1.NetworkPolicy {
	mc := v.Memcached
	var clients []int32
	for _, port := range memcached.ClientPorts(mc) {
		clients = append(clients, port.Number)
	}
	wanted := ptr.Deref(mc.Spec.NetworkPolicy, cachev1alpha1.MemcachedNetworkPolicy{})
	rules := []networkingv1.NetworkPolicyIngressRule{render.IngressRule(wanted.From, clients...)}
	if mc.Spec.Monitoring.Enabled || memcached.WantsAgent(mc) && len(wanted.MetricsFrom) > 0 {
		rules = append(rules, render.IngressRule(wanted.MetricsFrom, memcached.MetricsPort))
	}
	if ports := portsForOperator(mc); len(ports) > 0 {
		rules = append(rules, render.OperatorRule(memcached.NameLabel, memcached.ManagedBy, ports...))
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

// portsForOperator returns the ports to which the operator itself connects: those of the launcher and of the agent.
func portsForOperator(mc *cachev1alpha1.Memcached) []int32 {
	var ports []int32
	if hasLauncher(mc) {
		ports = append(ports, memcached.LauncherPort)
	}
	if memcached.WantsAgent(mc) {
		ports = append(ports, memcached.MetricsPort)
	}
	return ports
}
