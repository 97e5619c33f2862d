// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// twinGuard decides whether a serving node may stop. It may only if each twin has the items of this node, and stops no nodes itself.
type twinGuard struct {
	v memcached.View
	// waits is why the last call of the method allows returned false. It is empty if that call returned true. ask contains the pods of
	// twins whose launchers must be asked first.
	waits string
	ask   []*corev1.Pod
}

// allows reports whether the node with this number may stop now.
func (g *twinGuard) allows(ordinal int) bool {
	g.waits = ""
	for _, twin := range g.v.Copies() { // all of them, so that their launchers are asked at the same time
		waits := cmp.Or(yieldsTo(twin, g.v), whole(twin, g.v))
		if waits == "" {
			waits = g.filled(twin, ordinal)
		}
		g.waits = cmp.Or(g.waits, waits)
	}
	return g.waits == ""
}

// yieldsTo returns a message if the rollout of twin goes before that of v, and "" otherwise. If only one of the two rollouts has begun,
// it goes first. If both have begun, or both are about to begin, the Memcached with the smaller name goes first. If a node of v is not
// ready, v does not yield: twin waits for that node, and only the rollout of v may repair it.
func yieldsTo(twin, v memcached.View) string {
	name, smaller := twin.Memcached.Name, twin.Memcached.Name < v.Memcached.Name
	theirs, ours, twinPaused := twin.Began(), v.Began(), twin.Memcached.Spec.Paused
	twinFirst := theirs && !ours || theirs == ours && smaller
	switch {
	case !twinFirst || whole(v, twin) != "":
		return ""
	case theirs && twinPaused:
		return fmt.Sprintf("Waiting for the rollout of its twin %s to end, which is paused", name)
	case theirs:
		return fmt.Sprintf("Waiting for the rollout of its twin %s to end", name)
	case twin.Wants() && !twinPaused:
		return fmt.Sprintf("Waiting for its twin %s, which rolls out first", name)
	default:
		return ""
	}
}

// whole returns "" if the twin has a workload and all its nodes are ready, and a message otherwise. The message names the Memcacheds from
// which the user can remove spec.fillFrom: of the two, those that name the other.
func whole(twin, v memcached.View) string {
	name, ready, size := twin.Memcached.Name, int32(0), int32(0)
	if twin.Workload != nil {
		size = twin.Workload.Size
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
	return fmt.Sprintf("Waiting until all nodes of its twin %s are ready: %d of %d are. To go on without its items, remove spec.fillFrom "+
		"of %s", name, ready, size, strings.Join(filled, " and "))
}

// filled returns a message if the twin's node with this number may lack items or is about to lose them, and "" otherwise.
func (g *twinGuard) filled(twin memcached.View, ordinal int) string {
	node := twin.Node(ordinal)
	if node == nil {
		return ""
	}
	answer, answered := g.v.Answers[node.UID]
	switch fill := answer.Fill; {
	case !answered && node.Status.PodIP != "":
		g.ask = append(g.ask, node)
		return "Asking the node " + node.Name + " of its twin"
	case answer.Failure != "":
		return fmt.Sprintf("Waiting for an answer of the node %s of its twin on port %d, whether it has all items: %s",
			node.Name, memcached.LauncherPort, answer.Failure)
	case mayStop(twin, node, ordinal, answer):
		return fmt.Sprintf("Waiting until the node %s of its twin has been restarted or replaced", node.Name)
	case fill.Open():
		return fmt.Sprintf("Waiting until the node %s of its twin has all items", node.Name)
	case fill != nil && fill.State == protocol.FillFailed:
		return fmt.Sprintf("Waiting until the node %s of its twin has all items, which it gets from %s: %s", node.Name, fill.From, fill.Reason)
	default:
		return ""
	}
}

// mayStop reports whether a node may stop without another decision of the operator. It may if its launcher is restarting memcached or
// has yet to read new arguments, or if the StatefulSet's controller may replace its pod.
func mayStop(v memcached.View, node *corev1.Pod, ordinal int, answer memcached.Answer) bool {
	entry := v.Arguments().Sections[memcached.SectionOf(node)].Nodes[ordinal]
	assigned := entry != "" && entry != answer.Hash && (answer.Refused == nil || answer.Refused.Hash != entry)
	outdated := v.Workload.Unobserved() || !v.Workload.Made(node)
	return answer.Restarting != "" || assigned || outdated && int(v.Workload.Partition) <= ordinal
}
