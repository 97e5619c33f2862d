// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type nodeState struct {
	// outdated reports that the node does not match the new template. A missing node is not outdated. ready reports that the node
	// serves, and an updated node that it has served for minReadySeconds. young reports that it serves, but not for so long. cutOff
	// reports that the node serves, but that its cluster node has lost contact. missing reports that there is no pod.
	outdated, ready, young, cutOff, missing bool
}

func (n nodeState) isOutdated() bool { return n.outdated }

// away reports whether clients may get no answer from the node, also if it is missing.
func (n nodeState) away() bool { return !n.ready || n.cutOff }

// rollingUpdate returns how the StatefulSet's controller replaces nodes. From Kubernetes 1.37 on, it replaces none while maxUnavailable
// nodes are away, and counts nodes below the partition too. With twins, these may be away until nodes with larger numbers have been
// replaced, so one more node than those may be away.
func rollingUpdate(v memcached.View, section string, inPlace bool, guard *twinGuard) *appsv1.RollingUpdateStatefulSetStrategy {
	partition := partitionOf(v, section, inPlace, guard)
	_, unavailable := updateLimits(v.Memcached)
	if v.Workload != nil && len(v.Copies()) > 0 && partition < v.Memcached.Spec.Size {
		below := nodeStates(v, section, true)[:partition]
		below = slices.DeleteFunc(below, func(node nodeState) bool { return !node.away() && !node.young })
		unavailable = intstr.FromInt(1 + len(below))
	}
	return &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition, MaxUnavailable: &unavailable}
}

// partition returns the smallest partition with which a rollout, which goes from the last node to node 0, replaces at most this many
// nodes that serve.
func partition(nodes []nodeState, leaving int) int {
	for ordinal, node := range slices.Backward(nodes) {
		if node.outdated && node.ready {
			if leaving <= 0 {
				return ordinal + 1
			}
			leaving--
		}
	}
	return 0
}

// partitionOf returns the partition of the StatefulSet: nodes with smaller numbers are not replaced. During a change in place, it
// protects all nodes. With twins (other Memcacheds with the same items), it falls step by step during a rollout, and protects all nodes
// between rollouts, so that changes of the template by others must wait as well. With minReadySeconds, it also falls step by step.
// Otherwise, it protects no node.
func partitionOf(v memcached.View, section string, inPlace bool, guard *twinGuard) int32 {
	rest, twins := int32(0), len(v.Copies()) > 0
	if twins || inPlace || changedInPlace(v, section) {
		rest = v.Memcached.Spec.Size
	}
	if stepwise := twins || waitsForAvailable(v.Memcached); inPlace || v.Workload == nil || !stepwise {
		return rest
	}
	return step(v, section, rest, guard)
}

// step returns the next partition of a rollout, or rest if there is none.
func step(v memcached.View, section string, rest int32, guard *twinGuard) int32 {
	w, twins := v.Workload, len(v.Copies()) > 0
	same := w.Template.Annotations[memcached.TemplateAnnotation] == section
	if same && w.Unobserved() {
		return min(w.Partition, v.Memcached.Spec.Size) // the controller has not observed the template, so no node is known to match it
	}
	nodes := nodeStates(v, section, same)
	switch outdated := slices.ContainsFunc(nodes, nodeState.isOutdated); {
	case twins && (outdated || !same || !w.Complete):
		return int32(partitionOfTwin(nodes, guard)) //nolint:gosec // at most size
	case !twins && outdated:
		return int32(partitionOfMany(nodes, mayBeAway(v), int(w.Partition))) //nolint:gosec // at most size
	default:
		return rest
	}
}

// changedInPlace reports whether all pods have changed in place, but the StatefulSet's controller has not seen the labels of all. It would
// replace those whose labels it has not seen.
func changedInPlace(v memcached.View, section string) bool {
	w, policy := v.Workload, v.Memcached.Spec.UpdateStrategy.PodUpdatePolicy
	if policy != cachev1alpha1.PodUpdateInPlaceIfPossible || w == nil || w.Partition == 0 || w.Updated == w.Replicas {
		return false
	}
	return !slices.ContainsFunc(nodeStates(v, section, true), nodeState.isOutdated)
}

// partitionOfTwin lets the next node that serves leave if all nodes with larger numbers serve, and the guard allows it.
func partitionOfTwin(nodes []nodeState, guard *twinGuard) int {
	first := partition(nodes, 0)
	if first > 0 && !slices.ContainsFunc(nodes[first:], nodeState.away) && guard.allows(first-1) {
		return first - 1
	}
	return first
}

// partitionOfMany lets nodes leave until as many are away as may be. If a node does not serve and is still protected, it returns
// 0 as soon as no other one is young or cut off: from 1.37 on, Kubernetes replaces this node first. It never raises the live partition
// above a missing node, whose pod would be created from the old template.
func partitionOfMany(nodes []nodeState, mayBeAway, live int) int {
	away := 0
	for _, node := range nodes {
		if node.away() {
			away++
		}
	}
	next := partition(nodes, mayBeAway-away)
	serves := slices.ContainsFunc(nodes, func(node nodeState) bool { return node.outdated && (node.young || node.cutOff) })
	if !serves && slices.ContainsFunc(nodes[:next], func(node nodeState) bool { return node.outdated && !node.ready }) {
		return 0
	}
	if slices.ContainsFunc(nodes[:next], func(node nodeState) bool { return node.missing }) {
		return min(next, live)
	}
	return next
}

// waitsForAvailable reports whether the operator itself makes a rollout wait for minReadySeconds. Before Kubernetes 1.37, the
// StatefulSet's controller only waits until a new node is ready. From 1.37 on, it replaces all outdated nodes at once that have not been
// ready for minReadySeconds, and maxUnavailable does not limit it. With InPlaceIfPossible, a partition means that pods change in place,
// so the operator leaves the rollout to Kubernetes.
func waitsForAvailable(mc *cachev1alpha1.Memcached) bool {
	strategy := mc.Spec.UpdateStrategy
	return strategy.MinReadySeconds > 0 && strategy.PodUpdatePolicy != cachev1alpha1.PodUpdateInPlaceIfPossible
}

// nodeStates returns the states of the nodes by number. section is the hash of the new pod template. same reports that the StatefulSet
// has this template already.
func nodeStates(v memcached.View, section string, same bool) []nodeState {
	nodes := make([]nodeState, v.Memcached.Spec.Size)
	for i := range min(len(nodes), int(v.Workload.Size)) {
		nodes[i].missing = true
	}
	for _, pod := range v.Workload.Nodes(v.Pods) {
		ordinal, ok := memcached.Ordinal(pod)
		if !ok || ordinal >= len(nodes) {
			continue
		}
		node := nodeState{cutOff: memcached.CutOff(pod), young: v.UntilAvailable(pod) > 0}
		node.ready = memcached.PodReady(pod) || node.cutOff
		node.outdated = pod.Annotations[memcached.TemplateAnnotation] != section || same && !v.Workload.Made(pod)
		node.ready = node.ready && (node.outdated || !node.young)
		nodes[ordinal] = node
	}
	return nodes
}
