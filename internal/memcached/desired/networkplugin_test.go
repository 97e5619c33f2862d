// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// admits reports whether NetworkPolicies let a client on another cluster node connect to a port of a pod. It follows the
// documentation of their API. Network plugins also admit all traffic from the pod's own cluster node, such as the kubelet's probes.
func admits(
	t *testing.T, policies []*networkingv1.NetworkPolicy, pod, client peer, protocol corev1.Protocol, number int32,
) bool {
	t.Helper()
	isolated := false
	for _, policy := range policies {
		if policy.Namespace != pod.namespace || !selects(t, &policy.Spec.PodSelector, pod.labels) ||
			!slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		isolated = true
		for _, rule := range policy.Spec.Ingress {
			to := func(p networkingv1.NetworkPolicyPort) bool { return includes(p, protocol, number) }
			from := func(p networkingv1.NetworkPolicyPeer) bool { return matches(t, policy.Namespace, p, client) }
			if (len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, to)) && (len(rule.From) == 0 || slices.ContainsFunc(rule.From, from)) {
				return true
			}
		}
	}
	return !isolated
}

// includes reports whether a rule's port includes this port. It supports only port numbers, because the operator's rules have no
// port names.
func includes(allowed networkingv1.NetworkPolicyPort, protocol corev1.Protocol, number int32) bool {
	if ptr.Deref(allowed.Protocol, corev1.ProtocolTCP) != protocol {
		return false
	}
	if allowed.Port == nil {
		return true
	}
	first := allowed.Port.IntVal
	return first <= number && number <= ptr.Deref(allowed.EndPort, first)
}

// matches reports whether a peer in a rule includes a client. namespace is the namespace of the policy.
func matches(t *testing.T, namespace string, allowed networkingv1.NetworkPolicyPeer, client peer) bool {
	t.Helper()
	switch {
	case allowed.IPBlock != nil:
		return client.address != "" && inNetwork(t, allowed.IPBlock.CIDR, client.address) &&
			!slices.ContainsFunc(allowed.IPBlock.Except, func(cidr string) bool { return inNetwork(t, cidr, client.address) })
	case client.namespace == "":
		return false
	case allowed.NamespaceSelector == nil:
		return client.namespace == namespace && selects(t, allowed.PodSelector, client.labels)
	default:
		return selects(t, allowed.NamespaceSelector, namespaces[client.namespace]) &&
			(allowed.PodSelector == nil || selects(t, allowed.PodSelector, client.labels))
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Matches(set)
}

func inNetwork(t *testing.T, cidr, address string) bool {
	t.Helper()
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		t.Fatal(err)
	}
	return prefix.Contains(netip.MustParseAddr(address))
}
