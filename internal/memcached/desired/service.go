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
	"github.com/example/memcached-operator/internal/render"
)

// Service returns the headless Service. With spec.fillFrom, its DNS name resolves to all nodes, because proxies must store new items
// in nodes that are still being filled. Otherwise, it resolves only to ready nodes, because clients must not connect to nodes that
// are starting or stopping.
func Service(mc *cachev1alpha1.Memcached) *corev1.Service {
	service := role(mc).Service(memcached.NodesSuffix, mc.Spec.Service, mc.Spec.TLS)
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.PublishNotReadyAddresses = memcached.FillsFrom(mc) != ""
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
	return role(mc).ConfigMap(memcached.ServersSuffix, data)
}

// NetworkPolicy returns the policy of the nodes. With proxies, only these are its clients. To the nodes of a StatefulSet, it also admits
// twins that fill their nodes from these nodes.
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
	policy := role(mc).NetworkPolicy(wanted, mc.Spec.TLS, asked...)
	if twins := fillingTwins(v); len(twins) > 0 && len(wanted.From) > 0 {
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
