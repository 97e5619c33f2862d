// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// When spec.workload changes, the nodes move from the old workload to the new one: a node starts in the new workload, and when it
// is ready, a node of the old workload stops. Each step depends only on the observed state, so a move can be interrupted and
// reversed: see ADR-0012.

// sizeInMove returns the size of the workload that the spec asks for. During a move, both workloads together have at most one node
// more than spec.size, not counting the surge of an unfinished rollout. Nodes that have started stay.
func sizeInMove(v memcached.View) int32 {
	mc, former := v.Memcached, v.Former
	if former == nil {
		return mc.Spec.Size
	}
	nodes := former.Size
	surging := former.Kind == cachev1alpha1.WorkloadDeployment && former.Replicas != former.Updated
	switch {
	case former.Unobserved(): // if spec.workload has changed back, there may be more nodes than the status says
		nodes = mc.Spec.Size + 1
	case !surging: // surging pods do not count, because their rollout may never end
		nodes = max(nodes, former.Replicas)
	}
	size := mc.Spec.Size + 1 - nodes
	if present := v.Workload; present != nil {
		size = max(size, present.Size)
	}
	return min(max(size, 0), mc.Spec.Size)
}

// formerWorkload returns the old workload with a size for the nodes that have not moved yet, or nil when it has no nodes. Only the
// size in its spec changes, so that nodes that are about to stop are not replaced first.
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

// moved returns the number of nodes in the new workload that are available and will stay. It is 0 until the controller has observed
// the workload's current size. Nodes above that size are stopping, so they do not count. The controller's counts may be old, so
// moved checks the pods as well.
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
