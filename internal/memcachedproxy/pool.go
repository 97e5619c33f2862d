// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// poolProblem returns why the proxies cannot route to the Memcacheds in spec.pools, or nil.
func poolProblem(v View) *memcached.Problem {
	var problem *memcached.Problem
	for i, mc := range v.Pools() {
		problem = problem.And(problemOf(v, v.Proxy.Spec.Pools[i].Name, mc))
	}
	return problem
}

// problemOf returns why the proxies cannot route to the Memcached with this name, or nil.
func problemOf(v View, name string, mc *cachev1alpha1.Memcached) *memcached.Problem {
	switch _, known := nodesOf(mc); {
	case mc == nil:
		return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidReference, Message: fmt.Sprintf(
			"spec.pools names the Memcached %s, which does not exist in the namespace: create it, with spec.workload StatefulSet", name)}
	case v.unsupported(mc) != nil:
		return v.unsupported(mc)
	case !known:
		return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidReference, Message: fmt.Sprintf(
			"The Memcached %s has no servers in its status yet: see its conditions", name)}
	default:
		return unreachable(v.Proxy, mc)
	}
}

// unsupported returns why the proxies cannot route to a Memcached with this spec, or nil. If mc is nil, it returns nil.
func (v View) unsupported(mc *cachev1alpha1.Memcached) *memcached.Problem {
	if mc == nil {
		return nil
	}
	var message string
	switch name := mc.Name; {
	case !memcached.IsStatefulSet(mc):
		message = fmt.Sprintf("spec.workload of the Memcached %s is Deployment, whose nodes have no stable names: "+
			"create another Memcached with spec.workload StatefulSet", name)
	case mc.Spec.Auth != nil:
		message = fmt.Sprintf("spec.auth of the Memcached %s makes clients log in, which proxies cannot: remove it, and limit who may connect "+
			"with spec.networkPolicy", name)
	case !memcached.HasPlaintext(mc):
		message = fmt.Sprintf("spec.tls.plaintext of the Memcached %s is Disabled, and proxies cannot connect with TLS: set it to Enabled", name)
	case len(v.Copies) > 0 && mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile:
		message = fmt.Sprintf("spec.storage.type of the Memcached %s is MemoryFile, with which a node comes back with items that its copies "+
			"have replaced meanwhile: set it to Memory", name)
	default:
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidReference, Message: message}
}

// unreachable returns a problem if the Memcached's NetworkPolicy keeps the proxies out, or nil. The operator does not add the
// proxies to the policy, because then anybody who may create a proxy could get around it.
func unreachable(proxy *cachev1alpha1.MemcachedProxy, mc *cachev1alpha1.Memcached) *memcached.Problem {
	wanted := ptr.Deref(mc.Spec.NetworkPolicy, cachev1alpha1.MemcachedNetworkPolicy{})
	listed := func(peer networkingv1.NetworkPolicyPeer) bool { return mayBe(peer, podLabels(proxy)) }
	if len(wanted.From) == 0 || slices.ContainsFunc(wanted.From, listed) {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidReference, Message: fmt.Sprintf(
		"spec.networkPolicy.from of the Memcached %s does not list the proxies: add {podSelector: {matchLabels: {%s: %s, %s: %s}}}",
		mc.Name, memcached.NameLabel, Name, memcached.InstanceLabel, proxy.Name)}
}

// differingSizes returns a message if the Memcacheds in spec.pools have different numbers of nodes, else an empty text.
func differingSizes(v View) string {
	var sizes []string
	same := true
	for _, mc := range v.Pools() {
		count, known := nodesOf(mc)
		if !known {
			return ""
		}
		sizes = append(sizes, fmt.Sprintf("%s has %d", mc.Name, count))
		same = same && count == len(v.Pool.Status.Servers)
	}
	if same {
		return ""
	}
	return fmt.Sprintf("Copies must have the same number of nodes, but %s: proxies use the smallest number above 0 until spec.size of all "+
		"is the same", strings.Join(sizes, ", "))
}

// mayBe reports whether pods of the same namespace with these labels may belong to the peer. The namespace's labels and the pods'
// addresses are unknown, so parts of the peer that depend on them are assumed to match.
func mayBe(peer networkingv1.NetworkPolicyPeer, pods map[string]string) bool {
	if peer.IPBlock != nil || peer.PodSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
	return err != nil || selector.Matches(labels.Set(pods))
}
