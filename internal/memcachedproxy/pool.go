// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// poolProblem is why the proxies cannot lead to the Memcached of spec.pools, nil if they can.
func poolProblem(v View) *memcached.Problem {
	name := v.Proxy.Spec.Pools[0].Name
	switch _, known := nodesOf(v.Pool); {
	case v.Pool == nil:
		return &memcached.Problem{Reason: cachev1alpha1.ReasonPoolNotFound, Message: fmt.Sprintf(
			"spec.pools names the Memcached %s, which does not exist in the namespace: create it, with spec.workload StatefulSet", name)}
	case unsupported(v) != nil:
		return unsupported(v)
	case !known:
		return &memcached.Problem{Reason: cachev1alpha1.ReasonPoolNotFound, Message: fmt.Sprintf(
			"The Memcached %s has no servers in its status yet: see its conditions", name)}
	default:
		return unreachable(v)
	}
}

// unsupported is why proxies cannot lead to a Memcached that exists, nil if they can.
func unsupported(v View) *memcached.Problem {
	if v.Pool == nil {
		return nil
	}
	var message string
	switch spec, name := v.Pool.Spec, v.Pool.Name; {
	case memcached.WorkloadKind(v.Pool) != cachev1alpha1.WorkloadStatefulSet:
		message = fmt.Sprintf("spec.workload of the Memcached %s is Deployment, whose nodes have no stable names: set it to StatefulSet", name)
	case spec.Auth != nil:
		message = fmt.Sprintf("spec.auth of the Memcached %s makes clients log in, which proxies cannot: remove it, and limit who may connect "+
			"with spec.networkPolicy", name)
	case !memcached.HasPlaintext(v.Pool):
		message = fmt.Sprintf("spec.tls.plaintext of the Memcached %s is Disabled, and proxies cannot connect with TLS: set it to Enabled", name)
	default:
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonPoolUnsupported, Message: message}
}

// unreachable is why the NetworkPolicy of the Memcached keeps the proxies out, nil if it lets them in, or if that cannot be known. Who may
// create a proxy must not go around the list of who may connect, so nobody extends it but its author.
func unreachable(v View) *memcached.Problem {
	wanted := v.Pool.Spec.NetworkPolicy
	listed := func(peer cachev1alpha1.NetworkPolicyPeer) bool { return mayBe(peer, podLabels(v.Proxy)) }
	if len(wanted.From) == 0 || !ptr.Deref(wanted.Enabled, true) || slices.ContainsFunc(wanted.From, listed) {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonPoolUnsupported, Message: fmt.Sprintf(
		"spec.networkPolicy.from of the Memcached %s does not list the proxies: add {podSelector: {matchLabels: {%s: %s, %s: %s}}}",
		v.Pool.Name, memcached.NameLabel, Name, memcached.InstanceLabel, v.Proxy.Name)}
}

// mayBe reports whether pods with these labels, of the same namespace, may be among the peers. The labels of the namespace and the
// addresses of pods are not known here.
func mayBe(peer cachev1alpha1.NetworkPolicyPeer, pods map[string]string) bool {
	if peer.IPBlock != nil || peer.PodSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(ptr.To(render.LabelSelector(*peer.PodSelector)))
	return err != nil || selector.Matches(labels.Set(pods))
}
