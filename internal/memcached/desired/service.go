// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// Service returns the headless Service. With copies, its DNS name resolves to all nodes, because proxies must store new items in nodes that
// are still being filled. Otherwise, it resolves only to ready nodes, because clients must not connect to nodes that are starting or
// stopping.
func Service(mc *cachev1alpha1.Memcached) *corev1.Service {
	service := nodeRole(mc).service(memcached.NodesSuffix)
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.PublishNotReadyAddresses = memcached.Copies(mc) > 1
	return service
}

// serversKey is the ConfigMap's key for the addresses of all nodes.
const serversKey = "servers"

// ConfigMap returns the ConfigMap that lists the servers. Applications read it as environment variables or files. It exists even
// with size 0, because pods that refer to a missing ConfigMap do not start.
//
// If TLS and plaintext are enabled, the addresses in "servers" have the plaintext port, and those in "tlsServers" have the TLS
// port. If plaintext is disabled, both have the TLS port.
func ConfigMap(v memcached.View) *corev1.ConfigMap {
	mc := v.Memcached
	data := map[string]string{
		"host":     memcached.Host(mc),
		"port":     strconv.Itoa(v.ServerPort()),
		serversKey: strings.Join(v.Servers(), ","),
	}
	if servers := v.TLSServers(); servers != nil {
		data["tlsPort"], data["tlsServers"] = strconv.Itoa(memcached.TLSPort), strings.Join(servers, ",")
	}
	return nodeRole(mc).configMap(memcached.ServersSuffix, data)
}

// NetworkPolicy returns the policy of the nodes. With proxies, only these are its clients. With copies, nodes also admit each other.
func NetworkPolicy(v memcached.View) *networkingv1.NetworkPolicy {
	mc := v.Memcached
	var asked []int32
	if memcached.IsStatefulSet(mc) {
		asked = []int32{memcached.ParentPort, memcached.MetricsPort}
	}
	wanted := *mc.Spec.NetworkPolicy
	switch {
	case memcached.HasProxies(mc) && onlyProxies(v):
		wanted.From = proxyPeers(mc)
	case memcached.HasProxies(mc) && len(wanted.From) > 0:
		wanted.From = slices.Concat(wanted.From, proxyPeers(mc))
	}
	policy := nodeRole(mc).networkPolicy(wanted, asked...)
	if memcached.Copies(mc) > 1 && len(wanted.From) > 0 {
		nodes := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)}}
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{nodes}, Ports: tcpPorts(memcached.Port),
		})
	}
	return policy
}
