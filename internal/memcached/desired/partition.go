// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	"github.com/example/memcached-operator/internal/memcached"
)

// nodeState describes a node during a rollout of its StatefulSet.
type nodeState struct {
	// outdated reports that it is not made from the template. A missing node is not outdated.
	outdated, ready bool
}

// partition returns the first node that a StatefulSet may replace without stopping a node that serves, and the next one to replace after
// that, -1 if none may be yet. Nodes are replaced from the last one on. A replaced node must serve before the next one stops. Nodes that do
// not serve anyway can be replaced at once.
func partition(nodes []nodeState) (first, next int) {
	first, waits := len(nodes), false
	for ordinal, node := range slices.Backward(nodes) {
		if node.outdated && node.ready {
			if waits {
				return first, -1
			}
			return first, ordinal
		}
		waits = waits || !node.outdated && !node.ready
		first = ordinal
	}
	return first, -1
}

// partitionOf returns the partition of the StatefulSet. While nodes change in place, it protects all nodes. Without twins, it protects
// none. With twins, it protects all while nothing changes, so that other people's changes of the template wait for their turn as well.
func partitionOf(v memcached.View, section string, inPlace bool, turn *turn) int32 {
	w, size := v.Workload, v.Memcached.Spec.Size
	switch {
	case inPlace:
		return size
	case len(v.Copies()) == 0:
		return 0
	case w == nil:
		return size
	}
	same := w.Template.Annotations[memcached.TemplateAnnotation] == section
	if same && w.Unobserved() {
		return min(w.Partition, size) // nobody knows yet which nodes are made from the template
	}
	nodes, outdated := nodeStates(v, section, same)
	if same && !outdated && w.Complete {
		return size
	}
	first, next := partition(nodes)
	if next >= 0 && turn.allows(next) {
		first = next
	}
	return int32(first) //nolint:gosec // at most size
}

// nodeStates are the states of the nodes by their numbers, and whether one is outdated. same says that the template of the workload is that
// of the section.
func nodeStates(v memcached.View, section string, same bool) (nodes []nodeState, outdated bool) {
	nodes = make([]nodeState, v.Memcached.Spec.Size)
	for _, pod := range v.Workload.Nodes(v.Pods) {
		ordinal, ok := memcached.Ordinal(pod)
		if !ok || ordinal >= len(nodes) {
			continue
		}
		node := nodeState{ready: memcached.PodReady(pod), outdated: pod.Annotations[memcached.TemplateAnnotation] != section}
		node.outdated = node.outdated || same && !v.Workload.Made(pod)
		outdated = outdated || node.outdated
		nodes[ordinal] = node
	}
	return nodes, outdated
}
