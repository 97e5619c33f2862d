// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Nodes with the same number hold the same items (ADR-0019). So the operator never stops two of them at the same time.

// CopyLabel is a label of the pods of a StatefulSet, and holds the letter of their copy: a, b or c.
const CopyLabel = "cache.example.com/copy"

// copySuffixes end the names of the workloads of the copies.
var copySuffixes = [...]string{"", "-b", "-c"}

// Copies returns how many nodes hold each item.
func Copies(mc *cachev1alpha1.Memcached) int {
	if !IsStatefulSet(mc) {
		return 1
	}
	return max(int(mc.Spec.Copies), 1)
}

// CopyName returns the name of the workload of a copy. The names of its nodes begin with it.
func CopyName(mc *cachev1alpha1.Memcached, number int) string { return mc.Name + copySuffixes[number] }

// CopyLabels returns the labels that select the nodes of a copy.
func CopyLabels(mc *cachev1alpha1.Memcached, number int) map[string]string {
	labels := SelectorLabels(mc)
	if IsStatefulSet(mc) {
		labels[CopyLabel] = "abc"[number : number+1]
	}
	return labels
}

// Patterns returns a pattern of the host names of each copy's nodes, with %d in place of the node's number.
func Patterns(mc *cachev1alpha1.Memcached) []string {
	var patterns []string
	for number := range Copies(mc) {
		patterns = append(patterns, CopyName(mc, number)+"-%d."+Host(mc))
	}
	return patterns
}

// Fills says which nodes of a cache with copies may lack items.
type Fills struct {
	// Filled holds the UIDs of the pods that are known to have all items of their number.
	Filled map[types.UID]bool
	// Filling are the names of nodes that copy items before they become ready. Open reports that some nodes may still lack items.
	Filling []string
	Open    bool
	// Problem reports that a node serves without the items of the other copies. All objects are written nevertheless, unlike with
	// Plan.Problem.
	Problem *Problem
}

// Nodes returns the nodes of all copies: see Workload.Nodes.
func (v View) Nodes() []*corev1.Pod {
	var nodes []*corev1.Pod
	for _, w := range v.Workloads {
		nodes = append(nodes, w.Nodes(v.Pods)...)
	}
	return nodes
}

// Owns reports whether a pod belongs to one of the workloads.
func (v View) Owns(pod *corev1.Pod) bool {
	return slices.ContainsFunc(v.Workloads, func(w *Workload) bool { return w != nil && w.Owns(pod) })
}

// Node returns the node of this name, or nil. Terminating and failed pods do not count.
func (v View) Node(name string) *corev1.Pod {
	for _, node := range v.Nodes() {
		if node.Name == name {
			return node
		}
	}
	return nil
}
