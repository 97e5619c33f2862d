// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestPartition describes nodes by one character each, from node 0 on. Outdated nodes are o if they serve, and x if not. Replaced
// nodes are + if they serve, and - if not. A missing node is - as well.
func TestPartition(t *testing.T) {
	t.Parallel()
	for nodes, want := range map[string]struct{ first, next int }{
		"":      {0, -1},
		"ooo":   {3, 2},
		"oo+":   {2, 1},
		"o++":   {1, 0},
		"+++":   {0, -1},
		"oo-":   {2, -1}, // node 2 must serve first
		"o-+":   {1, -1},
		"--+":   {0, -1},
		"oox":   {2, -1}, // node 2 does not serve, so it can be replaced; node 1 waits for it
		"xxx":   {0, -1},
		"oxo":   {3, 2},
		"ox-":   {1, -1},
		"xo-":   {2, -1},
		"o":     {1, 0},
		"oo+++": {2, 1},
	} {
		states := make([]nodeState, len(nodes))
		for i, node := range nodes {
			states[i] = nodeState{outdated: node == 'o' || node == 'x', ready: node == 'o' || node == '+'}
		}
		if first, next := partition(states); first != want.first || next != want.next {
			t.Errorf("%q: %d and %d, want %d and %d", nodes, first, next, want.first, want.next)
		}
	}
}

// TestYoungNodesLeaveOneByOne changes the template soon after a rollout, and the size in the middle.
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

// TestYoungNodes checks that a rollout replaces one node at a time, and none while another one is away, while a node to replace has
// not served for minReadySeconds.
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
		{ages: [3]int{700, 700, 700}, unready: -1, want: 0},
		{ages: [3]int{10, 10, 10}, unready: -1, want: 2},
		{ages: [3]int{700, 10, 700}, unready: -1, want: 2},
		{ages: [3]int{700, 600, 700}, unready: -1, want: 2}, // clocks differ
		{ages: [3]int{700, 10, 10}, unready: 2, want: 2},
		{ages: [3]int{10, 10, 700}, unready: 0, want: 3}, // when node 1 is old enough, Kubernetes begins with node 0
		{ages: [3]int{700, 700, 10}, unready: 2, want: 0},
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
