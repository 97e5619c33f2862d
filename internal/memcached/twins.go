// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Two Memcacheds are twins if spec.fillFrom of the first names the second. Empty nodes of the first get the items of the second's nodes
// (ADR-0019). Nodes with the same number then hold the same items. So the operator must never stop two such nodes at the same time.

// Twins says which nodes of a Memcached may lack items.
type Twins struct {
	// Ask are the pods, also of twins, whose parents must be asked.
	Ask []*corev1.Pod
	// Filled holds the UIDs of the Memcached's own pods that are known to have all items of their twin's node. The twin's node has the
	// same number, and belongs to the Memcached that spec.fillFrom names.
	Filled map[types.UID]bool
	// Asking reports that some nodes may still lack items.
	Asking bool
	// Problem reports that spec.fillFrom cannot be used, or that a node serves without the items of its twin. All objects are written
	// nevertheless, unlike with Plan.Problem.
	Problem *Problem
}

// FillsFrom returns the name of the Memcached in spec.fillFrom, or "". For a Memcached with a Deployment, it is always "".
func FillsFrom(mc *cachev1alpha1.Memcached) string {
	if mc.Spec.FillFrom == nil || !IsStatefulSet(mc) {
		return ""
	}
	return mc.Spec.FillFrom.Name
}

// Source returns the Memcached in spec.fillFrom, or nil if the field is unset or the Memcached does not exist.
func (v View) Source() *cachev1alpha1.Memcached {
	for i := range v.Twins {
		if v.Twins[i].Memcached.Name == FillsFrom(v.Memcached) {
			return v.Twins[i].Memcached
		}
	}
	return nil
}

// Copies returns those twins that have a StatefulSet and are not being deleted, or none if the Memcached itself has a Deployment.
func (v View) Copies() []View {
	if !IsStatefulSet(v.Memcached) {
		return nil
	}
	var copies []View
	for _, twin := range v.Twins {
		if IsStatefulSet(twin.Memcached) && twin.Memcached.DeletionTimestamp == nil {
			copies = append(copies, twin)
		}
	}
	return copies
}

// Node returns the node with this number, or nil. Terminating and failed pods do not count.
func (v View) Node(ordinal int) *corev1.Pod {
	for _, node := range v.Workload.Nodes(v.Pods) {
		if number, ok := Ordinal(node); ok && number == ordinal {
			return node
		}
	}
	return nil
}
