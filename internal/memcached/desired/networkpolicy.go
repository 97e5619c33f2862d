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

// NetworkPolicy lets clients reach exactly the port that the pods open: those that the spec lists, or the pods of the namespace.
func NetworkPolicy(mc *cachev1alpha1.Memcached) *networkingv1.NetworkPolicy {
	from := each(mc.Spec.NetworkPolicy.From, networkPolicyPeer)
	if len(from) == 0 {
		from = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
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
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: from,
				Ports: []networkingv1.NetworkPolicyPort{{
					Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(port)),
				}},
			}},
		},
	}
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

// wantsNetworkPolicy reports whether there is to be a NetworkPolicy. Who lists clients wants one.
func wantsNetworkPolicy(mc *cachev1alpha1.Memcached) bool {
	return ptr.Deref(mc.Spec.NetworkPolicy.Enabled, len(mc.Spec.NetworkPolicy.From) > 0)
}
