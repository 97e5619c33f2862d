// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// IngressRule returns a rule that lets the peers reach the ports with these numbers. Without peers, all pods of the namespace can
// reach the ports.
func IngressRule(from []networkingv1.NetworkPolicyPeer, numbers ...int32) networkingv1.NetworkPolicyIngressRule {
	if len(from) == 0 {
		from = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	}
	return networkingv1.NetworkPolicyIngressRule{From: from, Ports: TCPPorts(numbers...)}
}

// OperatorRule returns a rule that lets the operator, in any namespace, reach the ports. The arguments label and name are the key and
// the value of a label of the operator's pods.
func OperatorRule(label, name string, ports ...int32) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{label: name, "control-plane": "controller-manager"}},
		}},
		Ports: TCPPorts(ports...),
	}
}

// NetworkPolicy returns a policy under which the selected pods accept only the connections that these rules allow.
func NetworkPolicy(selector map[string]string, rules []networkingv1.NetworkPolicyIngressRule) networkingv1.NetworkPolicySpec {
	return networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: selector},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     rules,
	}
}

// TCPPorts returns the TCP ports with these numbers for a NetworkPolicy.
func TCPPorts(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(number))})
	}
	return ports
}

// PodDisruptionBudget returns a budget that lets a drain evict one pod at a time, unless the spec says otherwise. Pods that are not
// ready may always be evicted, because they serve nobody and could block the drain for ever.
func PodDisruptionBudget(
	wanted cachev1alpha1.MemcachedPodDisruptionBudget, pods map[string]string,
) policyv1.PodDisruptionBudgetSpec {
	return policyv1.PodDisruptionBudgetSpec{
		Selector:                   &metav1.LabelSelector{MatchLabels: pods},
		MaxUnavailable:             cmp.Or(wanted.MaxUnavailable, ptr.To(intstr.FromInt32(1))),
		UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
	}
}
