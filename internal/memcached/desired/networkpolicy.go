// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// NetworkPolicy lets clients reach exactly the ports that the pods open: for each, those that the spec lists, or the pods of the
// namespace. An agent that nobody asked for metrics shows them only to those whom the spec lists.
func NetworkPolicy(mc *cachev1alpha1.Memcached) *networkingv1.NetworkPolicy {
	var clients []int32
	for _, port := range memcached.ClientPorts(mc) {
		clients = append(clients, port.Number)
	}
	rules := []networkingv1.NetworkPolicyIngressRule{ingressRule(mc.Spec.NetworkPolicy.From, clients...)}
	if mc.Spec.Monitoring.Enabled || wantsAgent(mc) && len(mc.Spec.NetworkPolicy.MetricsFrom) > 0 {
		rules = append(rules, ingressRule(mc.Spec.NetworkPolicy.MetricsFrom, memcached.MetricsPort))
	}
	if hasLauncher(mc) {
		rules = append(rules, operatorRule())
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      mc.Name,
			Namespace: mc.Namespace,
			Labels:    labelsOf(mc, nil),
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     rules,
		},
	}
}

// operatorRule lets the operator ask launchers, in whichever namespace it is.
func operatorRule() networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{},
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				memcached.NameLabel: memcached.ManagedBy, "control-plane": "controller-manager",
			}},
		}},
		Ports: tcpPorts(memcached.LauncherPort),
	}
}

func ingressRule(wanted []cachev1alpha1.NetworkPolicyPeer, numbers ...int32) networkingv1.NetworkPolicyIngressRule {
	from := each(wanted, networkPolicyPeer)
	if len(from) == 0 {
		from = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	}
	return networkingv1.NetworkPolicyIngressRule{From: from, Ports: tcpPorts(numbers...)}
}

func tcpPorts(numbers ...int32) []networkingv1.NetworkPolicyPort {
	return each(numbers, func(number int32) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(number))}
	})
}

func networkPolicyPeer(wanted cachev1alpha1.NetworkPolicyPeer) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		PodSelector:       optional(wanted.PodSelector, labelSelector),
		NamespaceSelector: optional(wanted.NamespaceSelector, labelSelector),
		IPBlock: optional(wanted.IPBlock, func(b cachev1alpha1.IPBlock) networkingv1.IPBlock {
			return networkingv1.IPBlock{CIDR: b.CIDR, Except: b.Except}
		}),
	}
}

// wantsNetworkPolicy reports whether there is to be a NetworkPolicy. Who lists clients or readers of metrics wants one.
func wantsNetworkPolicy(mc *cachev1alpha1.Memcached) bool {
	wanted := mc.Spec.NetworkPolicy
	return ptr.Deref(wanted.Enabled, len(wanted.From) > 0 || len(wanted.MetricsFrom) > 0)
}
