// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Two Memcacheds are twins if one fills its empty nodes from those of the other one: see ADR-0019. Each is a whole copy of a cache, so the
// operator must never take the same node from both at the same time.

// Twins is what a Memcached waits for and knows about its twins.
type Twins struct {
	// Waits says what the next step of a rollout or wave waits for, empty if it does not wait for a twin.
	Waits string
	// Ask are the nodes, also of twins, whose answers decide.
	Ask []*corev1.Pod
	// Filled are the nodes that are known to have the items of their twin.
	Filled map[types.UID]bool
	// Asking reports that this is not known of all nodes.
	Asking bool
	// Problem reports that nodes serve without the items of the twin. Everything is written nevertheless.
	Problem *Problem
}

// FillsFrom is the name of the Memcached from which empty nodes fill themselves, empty if there is none.
func FillsFrom(mc *cachev1alpha1.Memcached) string {
	if mc.Spec.FillFrom == nil || WorkloadKind(mc) != cachev1alpha1.WorkloadStatefulSet {
		return ""
	}
	return mc.Spec.FillFrom.Name
}

// Source is the twin from which empty nodes fill themselves, nil if it does not exist.
func (v View) Source() *cachev1alpha1.Memcached {
	for i := range v.Twins {
		if v.Twins[i].Memcached.Name == FillsFrom(v.Memcached) {
			return v.Twins[i].Memcached
		}
	}
	return nil
}

// Copies are the twins whose nodes have numbers.
func (v View) Copies() []View {
	if WorkloadKind(v.Memcached) != cachev1alpha1.WorkloadStatefulSet {
		return nil
	}
	var copies []View
	for _, twin := range v.Twins {
		if WorkloadKind(twin.Memcached) == cachev1alpha1.WorkloadStatefulSet && twin.Memcached.DeletionTimestamp == nil {
			copies = append(copies, twin)
		}
	}
	return copies
}

// Node is the node with a number that is not terminating, nil if there is none.
func (v View) Node(ordinal int) *corev1.Pod {
	for _, node := range v.Workload.Nodes(v.Pods) {
		if number, ok := Ordinal(node); ok && number == ordinal {
			return node
		}
	}
	return nil
}

// Began reports whether the operator has begun to replace or restart nodes of the StatefulSet, and has not finished.
func (v View) Began() bool {
	w := v.Workload
	if w != nil && w.Partition < w.Size && (w.RollingOut() || w.Outdated(w.Nodes(v.Pods)) > 0) {
		return true
	}
	for _, section := range v.Arguments().Sections {
		for _, hash := range section.Nodes {
			if hash != section.Default {
				return true
			}
		}
	}
	return false
}

// Wants reports whether a Memcached has a change that may replace or restart nodes, or a spec that the operator has not seen yet.
func (v View) Wants() bool {
	progressing := meta.FindStatusCondition(v.Last.Conditions, cachev1alpha1.ConditionProgressing)
	return v.Last.Generation != v.Memcached.Generation || progressing != nil && progressing.Status == metav1.ConditionTrue &&
		progressing.Reason == cachev1alpha1.ReasonRollingOut
}
