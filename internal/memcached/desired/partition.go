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
	// outdated reports that the node does not match the new template. A missing node is not outdated.
	outdated bool
	// serves reports that the pod is ready or cut off. An updated pod must also have been ready for minReadySeconds.
	serves bool
	// young reports that the pod is ready, but has not been ready for minReadySeconds yet.
	young bool
	// cutOff: see memcached.CutOff.
	cutOff bool
	// missing reports that the StatefulSet should have this node, but no pod exists.
	missing bool
}

func (n nodeState) isOutdated() bool { return n.outdated }

// away reports whether the node is missing, cut off or not ready. An updated node is away until it has served for minReadySeconds.
func (n nodeState) away() bool { return !n.serves || n.cutOff }

// rollingUpdate returns how the StatefulSet's controller replaces nodes. From Kubernetes 1.37 on, the controller replaces no available node
// while maxUnavailable nodes are unavailable. Nodes below the partition count, too. With twins, such a node may be unavailable until its
// turn comes. So, with twins, maxUnavailable is one more than the number of unavailable nodes below the partition.
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

// lowestPartition returns the smallest partition with which a rollout replaces at most this many serving nodes (leaving). A rollout
// goes from the last node to node 0.
func lowestPartition(nodes []nodeState, leaving int) int {
	for ordinal, node := range slices.Backward(nodes) {
		if node.outdated && node.serves {
			if leaving <= 0 {
				return ordinal + 1
			}
			leaving--
		}
	}
	return 0
}

// partitionOf returns the partition of the StatefulSet. Nodes with smaller numbers are protected: the StatefulSet's controller does not
// replace them. The rules are:
//   - During a change in place, and then until the controller has seen the labels of all pods, the partition protects all nodes.
//   - With twins (other Memcacheds with the same items), it protects all nodes between rollouts, so that changes of the template by
//     others must wait. During a rollout, it falls step by step.
//   - With minReadySeconds, it also falls step by step during a rollout, unless pods may change in place.
//   - Otherwise, it is 0.
func partitionOf(v memcached.View, section string, inPlace bool, guard *twinGuard) int32 {
	rest, twins := int32(0), len(v.Copies()) > 0
	if twins || inPlace || awaitsLabels(v, section) {
		rest = v.Memcached.Spec.Size
	}
	if stepwise := twins || waitsForAvailable(v.Memcached); inPlace || v.Workload == nil || !stepwise {
		return rest
	}
	return step(v, section, rest, guard)
}

// step returns the partition for the present step of a rollout. Without a rollout, it returns rest.
func step(v memcached.View, section string, rest int32, guard *twinGuard) int32 {
	w, twins := v.Workload, len(v.Copies()) > 0
	same := w.Template.Annotations[memcached.TemplateAnnotation] == section
	if same && w.Unobserved() {
		return min(w.Partition, v.Memcached.Spec.Size) // the controller has not observed the template, so no node is known to match it
	}
	if same && allUpdated(v) {
		return rest // pods that look outdated come from a cache that lags behind
	}
	nodes := nodeStates(v, section, same)
	switch outdated := slices.ContainsFunc(nodes, nodeState.isOutdated); {
	case twins && (outdated || !same || !w.Complete):
		return int32(partitionOfTwin(nodes, guard)) //nolint:gosec // at most size
	case !twins && outdated:
		return int32(partitionWithoutTwins(nodes, maxAway(v), int(w.Partition))) //nolint:gosec // at most size
	default:
		return rest
	}
}

// allUpdated reports whether the StatefulSet's controller counts all nodes as updated.
func allUpdated(v memcached.View) bool {
	return v.Workload.Complete && v.Workload.Updated == v.Memcached.Spec.Size
}

// awaitsLabels reports whether all pods have changed in place, but the StatefulSet's controller has not seen the labels of some pods yet.
// The controller would replace these pods.
func awaitsLabels(v memcached.View, section string) bool {
	w, policy := v.Workload, v.Memcached.Spec.UpdateStrategy.PodUpdatePolicy
	if policy != cachev1alpha1.PodUpdateInPlaceOrRecreate || w == nil || w.Partition == 0 || w.Updated == w.Replicas {
		return false
	}
	return !slices.ContainsFunc(nodeStates(v, section, true), nodeState.isOutdated)
}

// partitionOfTwin returns the partition that lets the next serving node leave, if all nodes with larger numbers serve and the guard
// allows it. Otherwise, no serving node may leave.
func partitionOfTwin(nodes []nodeState, guard *twinGuard) int {
	first := lowestPartition(nodes, 0)
	if first > 0 && !slices.ContainsFunc(nodes[first:], nodeState.away) && guard.allows(first-1) {
		return first - 1
	}
	return first
}

// partitionWithoutTwins returns the partition that lets serving nodes leave until maxAway nodes are away. There are two exceptions for
// protected nodes, which are those below the partition:
//   - If a protected node is outdated and does not serve, the partition is 0. From 1.37 on, Kubernetes replaces that node first.
//   - If a protected node is missing, the partition does not exceed live, the StatefulSet's partition. Otherwise, the new pod would get the
//     old template.
//
// While any outdated node is young or cut off, neither exception applies. With a lower partition, Kubernetes could replace that node at
// once.
func partitionWithoutTwins(nodes []nodeState, maxAway, live int) int {
	away := 0
	for _, node := range nodes {
		if node.away() {
			away++
		}
	}
	next := lowestPartition(nodes, maxAway-away)
	protected := nodes[:next]
	switch {
	case slices.ContainsFunc(nodes, func(node nodeState) bool { return node.outdated && (node.young || node.cutOff) }):
		return next
	case slices.ContainsFunc(protected, func(node nodeState) bool { return node.outdated && !node.serves }):
		return 0
	case slices.ContainsFunc(protected, func(node nodeState) bool { return node.missing }):
		return min(next, live)
	default:
		return next
	}
}

// waitsForAvailable reports whether the operator itself makes a rollout wait for minReadySeconds. Before Kubernetes 1.37, the
// StatefulSet's controller only waits until a new node is ready. From 1.37 on, it replaces at once all outdated nodes that have not been
// ready for minReadySeconds, regardless of maxUnavailable. With InPlaceOrRecreate, a partition means that pods change in place, so the
// operator leaves the rollout to Kubernetes.
func waitsForAvailable(mc *cachev1alpha1.Memcached) bool {
	strategy := mc.Spec.UpdateStrategy
	return strategy.MinReadySeconds > 0 && strategy.PodUpdatePolicy != cachev1alpha1.PodUpdateInPlaceOrRecreate
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
		node.serves = memcached.PodReady(pod) || node.cutOff
		node.outdated = pod.Annotations[memcached.TemplateAnnotation] != section || same && !v.Workload.Made(pod)
		node.serves = node.serves && (node.outdated || !node.young)
		nodes[ordinal] = node
	}
	return nodes
}
