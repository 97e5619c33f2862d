// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// A cache whose workload is to be of another Kind moves there node by node: one starts in the new workload, and when it is ready one
// of the former workload leaves. Each step follows from what is observed alone, so that a move can be interrupted, and turned back.

// moveIn is how many nodes the workload has that the spec asks for. During a move there is at most one node more than the size,
// and what has moved stays.
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

// formerWorkload is the workload that the nodes leave, with as many as have not moved, nil if it has none and can go. All else of it
// is left as it is: a node that is about to leave is not replaced first.
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

// moved is how many nodes of the workload that the spec asks for are available, and stay. Its controller counts those that have been
// ready for minReadySeconds, and may not have seen that one is no longer ready. After a change of mind it may count some that leave:
// as many as the former workload was to have are left, and what it has counted before it has seen its present size is no news.
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
