// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// NetworkPolicy returns the policy in the spec. To the nodes of a StatefulSet, it also admits twins that fill their nodes from these nodes.
func NetworkPolicy(v memcached.View) *networkingv1.NetworkPolicy {
	mc := v.Memcached
	var asked []int32
	if memcached.IsStatefulSet(mc) {
		asked = []int32{memcached.ParentPort, memcached.MetricsPort}
	}
	policy := role(mc).NetworkPolicy(*mc.Spec.NetworkPolicy, mc.Spec.TLS, asked...)
	if twins := fillingTwins(v); len(twins) > 0 && len(mc.Spec.NetworkPolicy.From) > 0 {
		rule := networkingv1.NetworkPolicyIngressRule{From: twins, Ports: render.TCPPorts(memcached.Port)}
		policy.Spec.Ingress = append(policy.Spec.Ingress, rule)
	}
	return policy
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
