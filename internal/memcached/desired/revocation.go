// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// What agents need that restart memcached one after the other: the list of all nodes, in which each finds the one after it.
const (
	serversVolume     = "servers"
	serversSourcePath = "/etc/memcached-agent/servers"
)

// Arguments of the agent that say when it restarts memcached.
const (
	restartForAuthorities = "--restart-for-authorities"
	restartForUsers       = "--restart-for-users"
)

// restartsForAuthorities reports whether agents restart memcached because a CA was removed. If clients need no certificate, memcached
// knows no CA.
func restartsForAuthorities(mc *cachev1alpha1.Memcached) bool {
	return requiresClientCertificates(mc) && mc.Spec.TLS.Revocation == cachev1alpha1.RevocationRestart
}

// restartsForUsers reports whether agents restart memcached because a user was removed.
func restartsForUsers(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.Auth != nil && mc.Spec.Auth.Revocation == cachev1alpha1.RevocationRestart
}

// restartsMemcached reports whether agents restart memcached at all.
func restartsMemcached(mc *cachev1alpha1.Memcached) bool {
	return restartsForAuthorities(mc) || restartsForUsers(mc)
}

// allServers is the list of nodes. It changes with the size, without a change of the pods. While a cache moves to a StatefulSet, there
// is none.
func allServers(mc *cachev1alpha1.Memcached) corev1.Volume {
	return projected(serversVolume, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: mc.Name + memcached.ServersSuffix},
		Items:                []corev1.KeyToPath{{Key: serversKey, Path: serversKey}},
		Optional:             ptr.To(true),
	}})
}

// agentsRule lets the agents of a cache ask each other.
func agentsRule(mc *cachev1alpha1.Memcached) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)}}},
		Ports: render.TCPPorts(memcached.MetricsPort),
	}
}
