// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// twinGuard finds out whether a node may stop. It may only if each twin has the items of this node, and stops no nodes itself.
type twinGuard struct {
	v memcached.View
	// asks has, by the number of a node, the pods of twins whose parents must be asked about it.
	asks map[int][]*corev1.Pod
}

// peers reports whether all twins have the items of the node with this number, and what is missing if one has not.
func (g *twinGuard) peers(ordinal int) (_ rollout.Known, words string) {
	whole := rollout.Yes
	for _, twin := range g.v.Copies() {
		known, waits := g.peer(twin, ordinal)
		if known == rollout.No {
			return known, waits
		}
		whole = min(whole, known)
	}
	return whole, ""
}

func (g *twinGuard) peer(twin memcached.View, ordinal int) (_ rollout.Known, words string) {
	node := twin.Node(ordinal)
	if waits := whole(twin, g.v); waits != "" || node == nil {
		return known(waits == ""), waits
	}
	answer, answered := g.v.Answers[node.UID]
	if !answered && node.Status.PodIP != "" {
		g.asks[ordinal] = append(g.asks[ordinal], node)
		return rollout.Unknown, ""
	}
	waits := unfilled(twin, node, answer)
	return known(waits == ""), waits
}

// whole returns "" if the twin has a workload and all its nodes are ready, and a message otherwise. The message names the Memcacheds from
// which the user can remove spec.fillFrom: of the two, those that name the other.
func whole(twin, v memcached.View) string {
	name, ready, size := twin.Memcached.Name, int32(0), int32(0)
	if twin.Workload != nil {
		size = max(twin.Workload.Size, twin.Memcached.Spec.Size) // a twin that is about to grow lacks nodes
		for _, node := range twin.Workload.Nodes(twin.Pods) {
			if ordinal, ok := memcached.Ordinal(node); ok && ordinal < int(size) && memcached.PodReady(node) {
				ready++
			}
		}
	}
	if ready == size && twin.Workload != nil {
		return ""
	}
	var filled []string
	for _, pair := range [][2]memcached.View{{v, twin}, {twin, v}} {
		if memcached.FillsFrom(pair[0].Memcached) == pair[1].Memcached.Name {
			filled = append(filled, pair[0].Memcached.Name)
		}
	}
	return fmt.Sprintf("waiting until all nodes of its twin %s are ready: %d of %d are. To go on without its items, remove spec.fillFrom "+
		"of %s", name, ready, size, strings.Join(filled, " and "))
}

// unfilled returns a message if the twin's node may lack items or is about to lose them, and "" otherwise.
func unfilled(twin memcached.View, node *corev1.Pod, answer memcached.Answer) string {
	switch fill := answer.Fill; {
	case answer.Failure != "":
		return fmt.Sprintf("waiting for an answer of the node %s of its twin on port %d, whether it has all items: %s",
			node.Name, memcached.ParentPort, answer.Failure)
	case mayStop(twin, node, answer):
		return fmt.Sprintf("waiting until the node %s of its twin has been restarted", node.Name)
	case fill.Open():
		return fmt.Sprintf("waiting until the node %s of its twin has all items", node.Name)
	case fill != nil && fill.State == protocol.FillFailed:
		return fmt.Sprintf("waiting until the node %s of its twin has all items, which it gets from %s: %s", node.Name, fill.From, fill.Reason)
	default:
		return ""
	}
}

// mayStop reports whether a node may stop without another decision of the operator: its parent is restarting memcached, or has yet to
// read its entry.
func mayStop(v memcached.View, node *corev1.Pod, answer memcached.Answer) bool {
	ordinal, _ := memcached.Ordinal(node)
	entry := v.Entries()[ordinal]
	unread := entry.Pod == string(node.UID) && entry.Number != answer.Number &&
		(answer.Refused == nil || answer.Refused.Number != entry.Number)
	return answer.Restarting || unread
}
