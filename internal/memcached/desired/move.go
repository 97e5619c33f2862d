// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// A cache moves to a workload of another Kind node by node. One node starts in the new workload; when it is ready, one node of the
// former workload stops. Each step depends only on the observed state, so a move can be interrupted and reversed.

// sizeInMove returns the size of the workload that the spec asks for. During a move, both workloads together have at most one node
// more than spec.size. Nodes that have started stay.
func sizeInMove(v memcached.View) int32 {
	mc, former := v.Memcached, v.Former
	if former == nil {
		return mc.Spec.Size
	}
	nodes := former.Size
	surging := former.Kind == cachev1alpha1.WorkloadDeployment && former.Replicas != former.Updated
	switch {
	case former.Unobserved(): // if the spec has changed back, there may be more nodes than were counted
		nodes = mc.Spec.Size + 1
	case !surging: // do not wait for surging pods: a rollout may never end
		nodes = max(nodes, former.Replicas)
	}
	size := mc.Spec.Size + 1 - nodes
	if present := v.Workload; present != nil {
		size = max(size, present.Size)
	}
	return min(max(size, 0), mc.Spec.Size)
}

// formerWorkload returns the workload that nodes leave, sized for the nodes that have not moved, or nil once it is empty. Only its
// size changes: nodes that are about to stop must not be replaced first.
func formerWorkload(v memcached.View) client.Object {
	mc, former := v.Memcached, v.Former
	if former == nil {
		return nil
	}
	empty := former.Size == 0 && former.Replicas == 0 && !former.Unobserved()
	if empty && metav1.IsControlledBy(former, mc) { // a workload without an owner is adopted before it is deleted
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

// moved counts the nodes of the new workload that are available and stay. It checks their readiness as well, because the
// controller's counts may be old. Nodes above the workload's size do not count, since they are stopping. Nothing counts until the
// controller has observed the current size.
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
