// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const (
	deploymentKind  = cachev1alpha1.WorkloadDeployment
	statefulSetKind = cachev1alpha1.WorkloadStatefulSet
)

func workloadKind(kind cachev1alpha1.WorkloadKind) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = kind }
}

// TestMove changes spec.workload to a StatefulSet and back, while the operator and the controllers act in various orders.
func TestMove(t *testing.T) {
	for _, size := range []int32{0, 1, 2, 3, 5} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("size %d, order %d", size, seed), func(t *testing.T) {
				m := newMoving(t, seed, memcachedtest.Cache(size))
				for _, kind := range []cachev1alpha1.WorkloadKind{statefulSetKind, deploymentKind} {
					m.mc.Spec.Workload = kind
					m.run(int(size)+1, int(size))
					m.checkSettled()
				}
			})
		}
	}
}

// TestMoveTurnsBack changes spec.workload back in the middle of a move, sometimes before a workload has reached the size that was
// written last.
func TestMoveTurnsBack(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("order %d", seed), func(t *testing.T) {
			m := newMoving(t, seed, memcachedtest.Cache(4))
			for range 3 {
				for _, kind := range []cachev1alpha1.WorkloadKind{statefulSetKind, deploymentKind} {
					m.mc.Spec.Workload = kind
					m.interleave(m.random.IntN(100), 5, 4)
				}
			}
			m.run(5, 4)
			m.checkSettled()
		})
	}
}

func TestMoveWithAnotherSize(t *testing.T) {
	for seed := range uint64(5) {
		for _, size := range []int32{0, 1, 2, 6} {
			t.Run(fmt.Sprintf("size %d, order %d", size, seed), func(t *testing.T) {
				m := newMoving(t, seed, memcachedtest.Cache(4))
				m.mc.Spec.Workload = statefulSetKind
				m.interleave(m.random.IntN(100), 5, 4)
				m.mc.Spec.Size = size
				m.run(int(max(size, 4))+1, int(min(size, 4)))
				m.checkSettled()
			})
		}
	}
}

// TestMoveWaitsForNodes covers a new workload whose nodes do not become ready. The old workload must keep its nodes, unchanged.
func TestMoveWaitsForNodes(t *testing.T) {
	mc := memcachedtest.Cache(3)
	former := live(t, mc, memcachedtest.Options)
	former.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}
	former.Spec.Template.Spec.HostNetwork = true // somebody else's change
	mc.Spec.Workload, mc.Spec.Image = statefulSetKind, "memcached:broken"
	objects := objectsOf(t, mc, memcached.Observed{Children: memcachedtest.Children(former)}, memcachedtest.Options)
	sizes := map[string]int32{}
	for _, object := range objects {
		if size := sizeOf(object); size != nil {
			sizes[object.GetObjectKind().GroupVersionKind().Kind] = *size
		}
		if left, ok := object.(*appsv1.Deployment); ok && !left.Spec.Template.Spec.HostNetwork {
			t.Error("the nodes that are about to leave are replaced first")
		}
	}
	if sizes["StatefulSet"] != 1 || sizes["Deployment"] != 3 || len(sizes) != 2 {
		t.Errorf("the sizes are %v", sizes)
	}
}

// TestMoveCountsNodesThatStay covers a move of two nodes from a StatefulSet to a Deployment. The Deployment's status may be older
// or newer than the pods in the operator's cache.
func TestMoveCountsNodesThatStay(t *testing.T) {
	for name, row := range map[string]struct {
		size, available, unobserved int32
		ready                       []bool
		left                        int32
	}{
		"one has moved":                       {size: 1, available: 1, ready: []bool{true}, left: 1},
		"it is not available yet":             {size: 1, ready: []bool{true}, left: 2},
		"it is not ready any more":            {size: 1, available: 1, ready: []bool{false}, left: 2},
		"another one is about to leave":       {size: 1, available: 2, ready: []bool{true, true}, left: 1},
		"it left, and another one is to come": {size: 2, available: 2, unobserved: 1, ready: []bool{true, true}, left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoving(t, 0, memcachedtest.Cache(2, workloadKind(statefulSetKind)))
			m.mc.Spec.Workload = deploymentKind
			m.reconcile()
			present := m.workloads[deploymentKind].(*appsv1.Deployment)
			present.Generation, present.Spec.Replicas = 3, &row.size
			present.Status = appsv1.DeploymentStatus{ObservedGeneration: int64(3 - row.unobserved), AvailableReplicas: row.available}
			m.cached[deploymentKind] = row.ready
			m.reconcile()
			if left := *sizeOf(m.workloads[statefulSetKind]); left != row.left {
				t.Errorf("%d nodes are left in the StatefulSet, want %d", left, row.left)
			}
		})
	}
}

// TestMoveFromASurge covers a Deployment whose rollout never ends. The move must not wait until the surging pod ends.
func TestMoveFromASurge(t *testing.T) {
	mc := memcachedtest.Cache(1, memcachedtest.Image("memcached:broken"))
	former := live(t, mc, memcachedtest.Options)
	former.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	mc.Spec.Workload, mc.Spec.Image = statefulSetKind, "memcached:1.6.45"
	if sizes := sizesOf(t, mc, former); sizes["StatefulSet"] != 1 || sizes["Deployment"] != 1 {
		t.Errorf("the sizes are %v", sizes)
	}
}

// TestMoveFromAnEmptyOrphan covers an old Deployment without nodes and without an owner. The operator must adopt it before it
// deletes it.
func TestMoveFromAnEmptyOrphan(t *testing.T) {
	mc := memcachedtest.Cache(0)
	former := live(t, mc, memcachedtest.Options)
	former.Status.ObservedGeneration = 1
	owners := former.OwnerReferences
	former.OwnerReferences = nil
	mc.Spec.Workload = statefulSetKind
	if sizes := sizesOf(t, mc, former); len(sizes) != 2 {
		t.Errorf("an orphan is not adopted: %v", sizes)
	}
	former.OwnerReferences = owners
	if sizes := sizesOf(t, mc, former); len(sizes) != 1 {
		t.Errorf("the Deployment without nodes is not deleted: %v", sizes)
	}
}

func sizesOf(t *testing.T, mc *cachev1alpha1.Memcached, former client.Object) map[string]int32 {
	t.Helper()
	sizes := map[string]int32{}
	for _, object := range objectsOf(t, mc, memcached.Observed{Children: memcachedtest.Children(former)}, memcachedtest.Options) {
		if size := sizeOf(object); size != nil {
			sizes[object.GetObjectKind().GroupVersionKind().Kind] = *size
		}
	}
	return sizes
}

// TestMoveOfSomebodyElse covers a workload of the other Kind that does not belong to the Memcached. It must stay as it is.
func TestMoveOfSomebodyElse(t *testing.T) {
	mc := memcachedtest.Cache(3)
	other := live(t, mc, memcachedtest.Options)
	other.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Helm", "cache", "other-uid")}
	mc.Spec.Workload = statefulSetKind
	for _, object := range objectsOf(t, mc, memcached.Observed{Children: memcachedtest.Children(other)}, memcachedtest.Options) {
		if size := sizeOf(object); size != nil && (object.GetObjectKind().GroupVersionKind().Kind != "StatefulSet" || *size != 3) {
			t.Errorf("%T with %d nodes", object, *size)
		}
	}
}

// TestStatefulSetAlwaysReplaces covers a maxUnavailable that is unset, 0 or 0%. It counts as 1, because with 0, nodes of a
// StatefulSet could never be replaced.
func TestStatefulSetAlwaysReplaces(t *testing.T) {
	for _, wanted := range []*string{nil, ptr.To("0"), ptr.To("0%")} {
		mc := memcachedtest.Cache(1, workloadKind(statefulSetKind))
		if wanted != nil {
			mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.Parse(*wanted))
		}
		if surge, unavailable := updateLimits(mc); surge.String() != "0" || unavailable.String() != "1" {
			t.Errorf("maxSurge %s, maxUnavailable %s", surge.String(), unavailable.String())
		}
	}
}
