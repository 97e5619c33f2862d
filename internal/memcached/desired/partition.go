// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	"github.com/example/memcached-operator/internal/memcached"
)

// nodeState is what counts of a node of a StatefulSet that replaces its nodes.
type nodeState struct {
	// outdated says that it is not made from the template. One that is missing will be.
	outdated, ready bool
}

// partition is the number of the first node that a StatefulSet may replace when no node that serves may go, and next is the one that may
// go then, -1 if none may yet. Nodes go from the last one on. One that has been replaced must serve before the next one goes. One that
// is away anyway is free to go.
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

// partitionOf returns the partition of the StatefulSet. While nodes change in place, it replaces none. Without twins, it replaces nodes by
// itself. With twins, it replaces none at rest, so that what others change in its template waits for its turn as well.
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
		return min(w.Partition, size) // whether its nodes are made from its template is not known
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
