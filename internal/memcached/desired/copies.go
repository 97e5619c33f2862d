// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// checkCopies returns a problem if the cluster cannot keep copies apart.
func checkCopies(mc *cachev1alpha1.Memcached, opts memcached.Options) *memcached.Problem {
	if memcached.Copies(mc) == 1 || !opts.LacksMatchLabelKeys {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: "spec.copies of more than 1 needs Kubernetes 1.31 or newer, " +
		"which can keep the copies of an item on different cluster nodes: use a Memcached with 1 copy, or upgrade the cluster"}
}

// apart keeps the nodes of one number on different hosts and, if possible, in different zones.
func apart(mc *cachev1alpha1.Memcached) *corev1.Affinity {
	sameNumber := func(topology string) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{
			LabelSelector:  &metav1.LabelSelector{MatchLabels: memcached.SelectorLabels(mc)},
			MatchLabelKeys: []string{appsv1.PodIndexLabel}, TopologyKey: topology,
		}
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{sameNumber(corev1.LabelHostname)},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: sameNumber(corev1.LabelTopologyZone)},
		},
	}}
}

// observePeers finds out for each node whether another copy has all its items.
func (f *fleet) observePeers() {
	for _, n := range f.nodes {
		n.PeersWhole, n.PeerWords = f.peers(n)
	}
}

// peers reports whether another copy has all items of a node, and what is missing if none has.
func (f *fleet) peers(n *node) (whole rollout.Known, words string) {
	if memcached.Copies(f.v.Memcached) == 1 {
		return rollout.Yes, ""
	}
	whole = rollout.No
	for _, other := range f.nodes {
		if other == n || other.ordinal != n.ordinal {
			continue
		}
		switch known, waits := other.whole(); known {
		case rollout.Yes:
			return known, ""
		case rollout.Unknown:
			whole = known
		default:
			words = cmp.Or(words, waits)
		}
	}
	return whole, words
}

// whole reports whether the node has all items of its number and is not about to lose them. If not, it says what another node waits for.
func (n *node) whole() (_ rollout.Known, words string) {
	switch {
	case n.Pod != rollout.Present || !n.Ready || n.CutOff:
		words = fmt.Sprintf("waiting until the node %s is ready", n.Name)
	case n.Silent != "":
		words = fmt.Sprintf("waiting for an answer of the node %s on port %d, whether it has all items: %s",
			n.Name, memcached.ParentPort, n.Silent)
	case n.answer == nil:
		return rollout.Unknown, ""
	case n.answer.Restarting, n.ArgumentsTaken == rollout.No && n.Failed.Action != rollout.Assign:
		words = fmt.Sprintf("waiting until the node %s has been restarted", n.Name)
	case n.answer.Fill.Open(), n.justStarted():
		words = fmt.Sprintf("waiting until the node %s has all items", n.Name)
	case n.answer.Fill != nil && n.answer.Fill.Reason != "":
		words = fmt.Sprintf("waiting until the node %s has all items, which it gets from %s: %s",
			n.Name, n.answer.Fill.From, n.answer.Fill.Reason)
	}
	return known(words == ""), words
}

// justStarted reports whether the node's parent has not begun to fill the node, of which the kubelet may still say that it is ready.
func (n *node) justStarted() bool { return n.answer.List.Target == "" && n.answer.Fill == nil }

// observeFills finds out which nodes have the items of the other copies. It asks each node until the node has them.
func (c *change) observeFills() {
	if memcached.Copies(c.v.Memcached) == 1 {
		return
	}
	c.plan.Fills.Filled = map[types.UID]bool{}
	for _, n := range c.nodes {
		if n.Pod == rollout.Present && !n.Stopped {
			filled := c.observeFill(n)
			c.plan.Fills.Filled[n.pod.UID] = filled
			c.plan.Fills.Open = c.plan.Fills.Open || !filled
		}
	}
}

// observeFill reports whether a node has the items of the other copies, as far as is known.
func (c *change) observeFill(n *node) (filled bool) {
	fills := &c.plan.Fills
	switch {
	case n.answer == nil && n.Ready && c.v.Filled[n.pod.UID]:
		return true
	case n.answer == nil && n.Silent == "":
		c.plan.Ask = append(c.plan.Ask, n.pod)
		return false
	case n.answer == nil:
		return false
	case n.answer.Fill.Open() && !n.Ready:
		fills.Filling = append(fills.Filling, n.Name)
	case n.answer.Fill != nil && n.answer.Fill.State == protocol.FillFailed:
		fills.Problem = cmp.Or(fills.Problem, &memcached.Problem{Reason: cachev1alpha1.ReasonNodesUnfilled, Message: fmt.Sprintf(
			"the node %s serves without the items of the other copies, and tries again to get them from %s: %s",
			n.Name, n.answer.Fill.From, n.answer.Fill.Reason)})
		return false
	}
	return !n.answer.Fill.Open() && !n.justStarted()
}
