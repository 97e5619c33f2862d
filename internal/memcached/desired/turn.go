// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// turn decides whether a node that serves may be taken away: only if its twins have what it has, and take none away themselves.
type turn struct {
	v memcached.View
	// waits says what the last question waits for, empty for nothing. ask are the nodes whose answers it needs.
	waits string
	ask   []*corev1.Pod
}

// allows reports whether the node with a number may be taken away.
func (t *turn) allows(ordinal int) bool {
	for _, twin := range t.v.Copies() {
		t.waits = cmp.Or(isTurnOf(twin, t.v), whole(twin))
		if t.waits == "" {
			t.waits = t.filled(twin, ordinal)
		}
		if t.waits != "" {
			return false
		}
	}
	return true
}

// isTurnOf says that a twin goes first, empty if it does not. A rollout that has begun goes on; otherwise the smaller name goes first.
func isTurnOf(twin, v memcached.View) string {
	name, smaller := twin.Memcached.Name, twin.Memcached.Name < v.Memcached.Name
	switch theirs, ours := twin.Began(), v.Began(); {
	case theirs && (!ours || smaller):
		return fmt.Sprintf("Waiting for the rollout of its twin %s to end", name)
	case !theirs && !ours && smaller && twin.Wants() && !twin.Memcached.Spec.Paused:
		return fmt.Sprintf("Waiting for its twin %s, which rolls out first", name)
	default:
		return ""
	}
}

// whole says that nodes of a twin are not ready, empty if all are.
func whole(twin memcached.View) string {
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
	return fmt.Sprintf("Waiting until all nodes of its twin %s are ready: %d of %d are. To go on without its items, remove spec.fillFrom",
		name, ready, size)
}

// filled says that the twin's node of this number lacks items, or that this is not known; empty if it lacks none or does not exist.
func (t *turn) filled(twin memcached.View, ordinal int) string {
	node := twin.Node(ordinal)
	if node == nil {
		return ""
	}
	answer, answered := t.v.Answers[node.UID]
	switch fill := answer.Fill; {
	case !answered && node.Status.PodIP != "":
		t.ask = append(t.ask, node)
		return "Asking the node " + node.Name + " of its twin"
	case answer.Failure != "":
		return fmt.Sprintf("Waiting for an answer of the node %s of its twin on port %d, whether it has all items: %s",
			node.Name, memcached.LauncherPort, answer.Failure)
	case fill.Open():
		return fmt.Sprintf("Waiting until the node %s of its twin has all items", node.Name)
	case fill != nil && fill.State == protocol.FillFailed:
		return fmt.Sprintf("Waiting until the node %s of its twin has all items, which it gets from %s: %s", node.Name, fill.From, fill.Reason)
	default:
		return ""
	}
}
