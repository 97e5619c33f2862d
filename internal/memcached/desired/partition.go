// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type nodeState struct {
	// outdated reports that the node does not match the new template. A missing node is not outdated. ready reports that the node
	// serves, and an updated node that it has served for minReadySeconds. young reports that it serves, but not for so long.
	outdated, ready, young bool
}

// partition returns two possible partitions for a rollout, which goes from the last node to node 0. With the partition called first,
// the rollout replaces no node that serves. With the one called next, it replaces one serving node as well. The value of next is -1
// if no outdated node serves, or if a node with a larger number than this one does not serve.
func partition(nodes []nodeState) (first, next int) {
	first, waits := len(nodes), false
	for ordinal, node := range slices.Backward(nodes) {
		if node.outdated && node.ready {
			if waits {
				return first, -1
			}
			return first, ordinal
		}
		waits = waits || !node.ready
		first = ordinal
	}
	return first, -1
}

// partitionOf returns the partition of the StatefulSet: nodes with smaller numbers are not replaced. During a change in place, it
// protects all nodes. With twins (other Memcacheds with the same items), it falls step by step during a rollout, and protects all nodes
// between rollouts, so that changes of the template by others must wait as well. Without twins, it falls step by step while a node to
// replace is young, and otherwise protects none: see protectsYoung.
func partitionOf(v memcached.View, section string, inPlace bool, guard *twinGuard) int32 {
	w, size, twins, rest := v.Workload, v.Memcached.Spec.Size, len(v.Copies()) > 0, int32(0)
	if twins {
		rest = size
	}
	switch {
	case inPlace:
		return size
	case w == nil || !twins && !protectsYoung(v.Memcached):
		return rest
	}
	same := w.Template.Annotations[memcached.TemplateAnnotation] == section
	if same && w.Unobserved() {
		return min(w.Partition, size) // the controller has not observed the template, so no node is known to match it
	}
	nodes := nodeStates(v, section, same)
	if !stepwise(w, nodes, twins, same) {
		return rest
	}
	first, next := partition(nodes)
	if next >= 0 && (twins && guard.allows(next) || !twins && allReady(nodes)) {
		first = next
	}
	return int32(first) //nolint:gosec // at most size
}

func allReady(nodes []nodeState) bool {
	return !slices.ContainsFunc(nodes, func(node nodeState) bool { return !node.ready })
}

// stepwise reports whether the partition falls step by step. same reports that the StatefulSet has the new template already.
func stepwise(w *memcached.Workload, nodes []nodeState, twins, same bool) bool {
	if !twins {
		return slices.ContainsFunc(nodes, func(node nodeState) bool { return node.outdated && node.young })
	}
	return !same || !w.Complete || slices.ContainsFunc(nodes, func(node nodeState) bool { return node.outdated })
}

// protectsYoung reports whether a rollout replaces nodes one by one while some of them have not served for minReadySeconds yet. Such
// nodes are not "available". From Kubernetes 1.37 on, the StatefulSet's controller replaces all of them at once, and maxUnavailable does
// not limit it. With InPlaceIfPossible, a partition means that pods change in place, so young nodes are not protected.
func protectsYoung(mc *cachev1alpha1.Memcached) bool {
	strategy := mc.Spec.UpdateStrategy
	return strategy.MinReadySeconds > 0 && strategy.PodUpdatePolicy != cachev1alpha1.PodUpdateInPlaceIfPossible
}

// nodeStates returns the states of the nodes by number. section is the hash of the new pod template. same reports that the StatefulSet
// has this template already.
func nodeStates(v memcached.View, section string, same bool) []nodeState {
	nodes := make([]nodeState, v.Memcached.Spec.Size)
	for _, pod := range v.Workload.Nodes(v.Pods) {
		ordinal, ok := memcached.Ordinal(pod)
		if !ok || ordinal >= len(nodes) {
			continue
		}
		node := nodeState{ready: memcached.PodReady(pod), young: v.UntilAvailable(pod) > 0}
		node.outdated = pod.Annotations[memcached.TemplateAnnotation] != section || same && !v.Workload.Made(pod)
		node.ready = node.ready && (node.outdated || !node.young)
		nodes[ordinal] = node
	}
	return nodes
}
