// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestPartition describes each node by one character, from node 0 on. Of the outdated nodes, o serves, y serves but not yet for
// minReadySeconds, c is cut off, and x does not serve. Of the updated nodes, + serves, and - does not. A missing node is _.
//
// The columns are the expected partitions. The column twin is for a cache with a twin. The columns one and two are for a cache without
// a twin, of which one or two nodes may be away. The live partition is 1.
func TestPartition(t *testing.T) {
	t.Parallel()
	allowed := &twinGuard{v: memcachedtest.View(memcachedtest.Cache(3), memcached.Observed{})}
	for nodes, want := range map[string]struct{ twin, one, two int }{
		"":      {0, 0, 0},
		"ooo":   {2, 2, 1},
		"oo+":   {1, 1, 0},
		"o++":   {0, 0, 0},
		"+++":   {0, 0, 0},
		"oo-":   {2, 2, 1},
		"o-+":   {1, 1, 0},
		"--+":   {0, 0, 0},
		"oox":   {2, 2, 1}, // node 2 does not serve, so it can be replaced first
		"xxx":   {0, 0, 0},
		"oxo":   {2, 0, 1}, // without a twin, Kubernetes 1.37 begins with node 1
		"yxo":   {2, 3, 1},
		"ox-":   {1, 1, 1},
		"xo-":   {2, 0, 0},
		"xyy":   {2, 3, 2},
		"ooc":   {2, 3, 2}, // node 2 may still serve: it is replaced if it has a twin, or if two may be away
		"oco":   {2, 3, 2},
		"xcc":   {2, 3, 3},
		"_oo":   {2, 1, 1}, // node 0 needs the new template
		"_yy":   {2, 3, 2}, // Kubernetes 1.37 would replace both other nodes at once
		"_oc":   {2, 3, 3},
		"_co":   {2, 3, 3},
		"_o+":   {1, 1, 0},
		"oo_":   {2, 2, 1},
		"o":     {0, 0, 0},
		"oo+++": {1, 1, 0},
	} {
		states := make([]nodeState, len(nodes))
		for i, node := range nodes {
			states[i] = nodeState{
				outdated: strings.ContainsRune("oyxc", node), serves: strings.ContainsRune("oyc+", node),
				young: node == 'y', cutOff: node == 'c', missing: node == '_',
			}
		}
		got := struct{ twin, one, two int }{partitionOfTwin(states, allowed), partitionWithoutTwins(states, 1, 1), partitionWithoutTwins(states, 2, 1)}
		if got != want {
			t.Errorf("%q: %v, want %v", nodes, got, want)
		}
	}
}

// TestYoungNodesLeaveOneByOne changes the template soon after all nodes have started. During this rollout, it changes both template
// and size two more times. If serving nodes leave at the same time, removeAs137 fails the test.
func TestYoungNodesLeaveOneByOne(t *testing.T) {
	f := newFleet(t, 5, func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 60 })
	teamLabel(f.mc)
	for range 20 {
		f.turn()
	}
	memcachedtest.Size(7)(f.mc)
	memcachedtest.Image("memcached:1.7")(f.mc)
	for range 20 {
		f.turn()
	}
	memcachedtest.Image("memcached:1.8")(f.mc)
	memcachedtest.Size(4)(f.mc)
	f.settle()
}

// TestYoungNodes checks that with minReadySeconds, one serving node leaves at a time. If a node below the partition is away and no other
// node is young, the partition is 0, which leaves the rollout to Kubernetes. Without minReadySeconds, the partition is always 0.
func TestYoungNodes(t *testing.T) {
	f := newFleet(t, 3, func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 600 })
	view, _ := f.decide()
	age := func(seconds int, status corev1.ConditionStatus) []corev1.PodCondition {
		since := metav1.NewTime(view.Now.Add(-time.Duration(seconds) * time.Second))
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: since}}
	}
	for _, row := range []struct {
		ages    [3]int
		unready int
		want    int32
	}{
		{ages: [3]int{700, 700, 700}, unready: -1, want: 2},
		{ages: [3]int{10, 10, 10}, unready: -1, want: 2},
		{ages: [3]int{700, 10, 700}, unready: -1, want: 2},
		{ages: [3]int{700, 600, 700}, unready: -1, want: 2}, // clocks differ
		{ages: [3]int{700, 10, 10}, unready: 2, want: 2},
		{ages: [3]int{10, 10, 700}, unready: 0, want: 3}, // when node 1 is old enough, Kubernetes 1.37 begins with node 0
		{ages: [3]int{700, 700, 10}, unready: 2, want: 2},
		{ages: [3]int{700, 700, 700}, unready: 0, want: 0},
	} {
		for i := range view.Pods {
			view.Pods[i].Status.Conditions = age(row.ages[i], corev1.ConditionTrue)
			if i == row.unready {
				view.Pods[i].Status.Conditions = age(row.ages[i], corev1.ConditionFalse)
			}
		}
		if got := partitionOf(view, "another template", false, &twinGuard{v: view}); got != row.want {
			t.Errorf("%+v: %d", row, got)
		}
		view.Memcached.Spec.UpdateStrategy.MinReadySeconds = 0
		if got := partitionOf(view, "another template", false, &twinGuard{v: view}); got != 0 {
			t.Errorf("%+v without minReadySeconds: %d", row, got)
		}
		view.Memcached.Spec.UpdateStrategy.MinReadySeconds = 600
	}
}

// TestTheControllerSeesLabelsLate checks that the partition stays after a change in place until the StatefulSet's controller has counted
// all pods as updated.
func TestTheControllerSeesLabelsLate(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy)
	view, _ := f.decide()
	view.Workload.Partition = 3
	for updated, want := range map[int32]int32{2: 3, 3: 0} {
		view.Workload.Updated = updated
		if got := partitionOf(view, sectionOf(f.updated), false, &twinGuard{v: view}); got != want {
			t.Errorf("%d updated: %d", updated, got)
		}
	}
	view.Workload.Updated = 2
	if got := partitionOf(view, "another template", false, &twinGuard{v: view}); got != 0 {
		t.Errorf("another template: %d", got)
	}
}

// TestMinReadySecondsBefore137 checks that a rollout waits for minReadySeconds, although the StatefulSet's controller does not.
func TestMinReadySecondsBefore137(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 60 })
	f.before137 = true
	f.seconds += 600
	teamLabel(f.mc)
	f.settle()
	for ordinal := range 2 {
		if waited := f.nodes[ordinal].servedSince - f.nodes[ordinal+1].servedSince; waited < 60 {
			t.Errorf("%d has been replaced %d s after %d", ordinal, waited, ordinal+1)
		}
	}
}
