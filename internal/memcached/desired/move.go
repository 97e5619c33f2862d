// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// A cache moves to a workload of another Kind node by node: one starts in the new workload, and when it is ready, one leaves the
// former workload. Each step follows from the observed state alone, so a move can be interrupted and reversed.

// moveIn returns the replicas of the workload that the spec asks for. During a move there is at most one node more than spec.size,
// and nodes that have moved stay.
func moveIn(v memcached.View) int32 {
	mc, former := v.Memcached, v.Former
	if former == nil {
		return mc.Spec.Size
	}
	nodes := former.Size
	surging := former.Kind == cachev1alpha1.WorkloadDeployment && former.Replicas != former.Updated
	switch {
	case former.Unobserved(): // after a change of mind, it may have more nodes than were counted
		nodes = mc.Spec.Size + 1
	case !surging: // a rollout may never end
		nodes = max(nodes, former.Replicas)
	}
	size := mc.Spec.Size + 1 - nodes
	if present := v.Workload; present != nil {
		size = max(size, present.Size)
	}
	return min(max(size, 0), mc.Spec.Size)
}

// formerWorkload returns the workload that nodes leave, with replicas for those that have not moved; nil once it can go. Only its
// replicas change: a node about to leave must not be replaced first.
func formerWorkload(v memcached.View) client.Object {
	mc, former := v.Memcached, v.Former
	if former == nil {
		return nil
	}
	empty := former.Size == 0 && former.Replicas == 0 && !former.Unobserved()
	if empty && metav1.IsControlledBy(former, mc) { // an orphan is adopted first, and then deleted
		return nil
	}
	size := min(former.Size, max(mc.Spec.Size-moved(v), 0))
	metadata := metav1.ObjectMeta{
		Name:        former.GetName(),
		Namespace:   former.GetNamespace(),
		Labels:      labelsOf(mc, nil),
		Annotations: former.RecordAnnotations(),
	}
	return former.Resized(metadata, size)
}

// moved returns how many nodes of the new workload are available and will stay. It checks readiness itself, because the controller
// counts nodes that were ready for minReadySeconds and may not have noticed that one no longer is. After a change of mind, nodes
// beyond the workload's size are leaving, and a workload whose controller has not seen its current size counts for nothing.
func moved(v memcached.View) int32 {
	present := v.Workload
	if present == nil || present.Unobserved() {
		return 0
	}
	ready := int32(0)
	for _, node := range present.Nodes(v.Pods) {
		if memcached.PodReady(node) {
			ready++
		}
	}
	return min(ready, present.Available, present.Size)
}
