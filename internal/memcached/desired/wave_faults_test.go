// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestSilentNode covers a node whose launcher does not answer. Such a node blocks a wave, and the message says what a person can do.
func TestSilentNode(t *testing.T) {
	for _, ordinal := range []int{2, 1} {
		f := newFleet(t, 3)
		f.nodes[ordinal].silent = true
		threadsOf(2)(f.mc)
		for range 20 {
			f.turn()
		}
		for i := range 3 {
			if moved := f.nodes[i].list.Value("-t") == "2"; moved != (i > ordinal) {
				t.Errorf("%d is silent, %d has moved: %t", ordinal, i, moved)
			}
		}
		want := fmt.Sprintf("The operator cannot ask the node cache-%d on port 9151 which configuration it runs (connection refused). "+
			"Let the operator reach that port, or replace the nodes: kubectl rollout restart statefulset/cache -n shop", ordinal)
		if f.plan.Wave.Blocked != want || !f.plan.Wave.Open {
			t.Errorf("it says %q", f.plan.Wave.Blocked)
		}
		f.nodes[ordinal].silent = false
		f.settle()
	}
}

// TestSecondChangeWithASilentNode changes the spec again while a node restarts with the list of the first change. The launcher of this
// node does not answer, and the pod still looks ready. No other node may restart meanwhile.
func TestSecondChangeWithASilentNode(t *testing.T) {
	f := newFleet(t, 3)
	threadsOf(2)(f.mc)
	for turns := 0; turns < 20 && f.nodes[1].next == nil; turns++ {
		f.turn()
	}
	f.nodes[1].silent = true
	f.look()
	threadsOf(8)(f.mc)
	f.reconcile()
	f.expect("4 4* 2; asks 1; writes ")
	if f.plan.Wave.Blocked == "" {
		t.Error("the silent node does not block the wave")
	}
	f.nodes[1].silent = false
	f.settle()
}

// TestOrphanedNodes deletes a StatefulSet without its pods, before or during a wave. The next StatefulSet adopts the pods, and the
// wave continues.
func TestOrphanedNodes(t *testing.T) {
	for turns := range 6 {
		f := newFleet(t, 3)
		threadsOf(2)(f.mc)
		for range turns {
			f.turn()
		}
		f.set = nil
		f.settle()
	}
}

// TestNodesWithoutTheirStatefulSet covers a Memcached that was deleted with --cascade=orphan and created again with another spec. Its
// nodes run, but the operator's cache does not show yet that the StatefulSet has lost its owner, or shows no StatefulSet at all.
func TestNodesWithoutTheirStatefulSet(t *testing.T) {
	for name, hide := range map[string]func(*memcached.Observed){
		"another owner": func(observed *memcached.Observed) {
			for i, child := range observed.Children {
				if set, ok := child.(*appsv1.StatefulSet); ok {
					set = set.DeepCopy()
					set.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", "cache", "former-uid")}
					observed.Children[i] = set
				}
			}
		},
		"missing": withoutStatefulSet,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3)
			f.mc.Status = cachev1alpha1.MemcachedStatus{}
			memcachedtest.RestartedAt(2026)(f.mc)
			f.hide = hide
			for range 3 {
				f.turn()
			}
			f.hide = nil
			f.settle()
		})
	}
}

func withoutStatefulSet(observed *memcached.Observed) {
	observed.Children = slices.DeleteFunc(observed.Children, func(child client.Object) bool { return memcached.AsWorkload(child) != nil })
}

// TestUnreadyNode covers a node that is not ready. It gets the new list at once. No other node gets the list before this node is
// ready.
func TestUnreadyNode(t *testing.T) {
	f := newFleet(t, 3)
	f.nodes[0].unready = true
	threadsOf(2)(f.mc)
	for range 5 {
		f.turn()
	}
	if got := []string{f.nodes[0].list.Value("-t"), f.nodes[1].list.Value("-t"), f.nodes[2].list.Value("-t")}; strings.Join(got, " ") != "2 4 4" {
		t.Errorf("the nodes have %v threads", got)
	}
	f.nodes[0].unready = false
	f.settle()
}

// TestRefusedList covers an argument list with which memcached cannot run.
func TestRefusedList(t *testing.T) {
	f := newFleet(t, 3)
	f.refused = "-t 2"
	threadsOf(2)(f.mc)
	for range 10 {
		f.turn()
	}
	f.expect("4 4 4*; asks " + strings.TrimSpace(strings.Repeat("2 ", 10)) + "; writes ConfigMap")
	const want = "the node cache-2 has refused the configuration and keeps its former one: memcached ended with exit code 1; change spec.config"
	if problem := f.plan.Problem; problem == nil || problem.Reason != cachev1alpha1.ReasonConfigurationRefused || problem.Message != want {
		t.Errorf("the problem is %v", problem)
	}
	memcachedtest.Size(4)(f.mc)
	for range 10 {
		f.turn()
	}
	if f.nodes[3].list.Value("-t") != "4" {
		t.Error("a new node does not start with the former list")
	}
	threadsOf(3)(f.mc)
	f.settle()
}

// TestNewNodesWithARefusedList covers nodes that are created while memcached cannot run with the new list. They must start with the old
// list.
func TestNewNodesWithARefusedList(t *testing.T) {
	for name, story := range map[string]struct {
		size int32
		then func(*fleet)
	}{
		"a larger size in one edit": {5, func(*fleet) {}},
		"a lost node":               {3, func(f *fleet) { f.remove(2) }},
		"a larger size and a lost node": {4, func(f *fleet) {
			f.remove(2)
			f.remove(3)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3)
			f.refused = "-t 2"
			threadsOf(2)(f.mc)
			memcachedtest.Size(story.size)(f.mc)
			for range 10 {
				f.turn()
			}
			story.then(f)
			for range 10 {
				f.turn()
			}
			if f.set.Status.ReadyReplicas != story.size {
				t.Errorf("%d of %d nodes are ready", f.set.Status.ReadyReplicas, story.size)
			}
			for ordinal, node := range f.nodes {
				if threads := node.list.Value("-t"); threads != "4" {
					t.Errorf("%d runs with %s threads", ordinal, threads)
				}
			}
			if problem := f.plan.Problem; problem == nil || problem.Reason != cachev1alpha1.ReasonConfigurationRefused {
				t.Errorf("the problem is %v", problem)
			}
			threadsOf(3)(f.mc)
			f.settle()
		})
	}
}

// TestTooSmallLimit checks that nodes get no new arguments for which the memory limit is too small.
func TestTooSmallLimit(t *testing.T) {
	f := newFleet(t, 3, withLimit(corev1.ResourceMemory, "200Mi"))
	connections(20000)(f.mc)
	for range 5 {
		f.turn()
	}
	f.expect("4 4 4; asks ; writes ")
	refused := func() {
		t.Helper()
		if f.plan.Problem == nil || f.plan.Problem.Reason != cachev1alpha1.ReasonInvalidResources || f.plan.Wave.Open {
			t.Errorf("the problem is %v", f.plan.Problem)
		}
	}
	refused()
	connections(1000)(f.mc)
	threadsOf(2)(f.mc)
	f.turn()
	f.turn()
	connections(20000)(f.mc) // in the middle of a wave
	f.turn()
	refused()
	connections(1000)(f.mc)
	f.settle()
}

// TestPausedWave checks that a paused wave writes nothing and asks no node, and continues after the pause.
func TestPausedWave(t *testing.T) {
	f := newFleet(t, 3)
	threadsOf(2)(f.mc)
	f.turn()
	f.turn()
	f.turn()
	f.look()
	memcachedtest.Paused(f.mc)
	for range 5 {
		f.turn()
	}
	if asked, writes := f.look(); asked+writes != "" || f.nodes[0].list.Value("-t") != "4" {
		t.Errorf("asks %s, writes %s", asked, writes)
	}
	threadsOf(4)(f.mc) // one node has the new list, and must go back
	f.reconcile()
	if f.plan.Wave.Effect != memcached.LosesItems {
		t.Errorf("the effect is %d", f.plan.Wave.Effect)
	}
	threadsOf(2)(f.mc)
	memcachedtest.Size(5)(f.mc)
	teamLabel(f.mc)
	f.reconcile()
	if encode(f.plan.Wave.Arguments.Data) != encode(f.config.Data) {
		t.Errorf("the arguments are held back, which nobody need know: %v", f.plan.Wave.Arguments.Data)
	}
	f.mc.Spec.Paused = false
	f.settle()
}

// TestRestartIsTakenBack sets and removes spec.restartedAt during a pause. No node restarts afterwards.
func TestRestartIsTakenBack(t *testing.T) {
	f := newFleet(t, 3)
	since := f.nodes[2].since
	memcachedtest.Paused(f.mc)
	memcachedtest.RestartedAt(2026)(f.mc)
	f.turn()
	f.turn()
	f.mc.Spec.RestartedAt = nil
	f.turn()
	f.mc.Spec.Paused = false
	f.settle()
	if f.nodes[2].since != since {
		t.Error("a node has restarted")
	}
}

// TestWaveWaitsForMinReadySeconds checks that each node runs for minReadySeconds before the next node gets the list.
func TestWaveWaitsForMinReadySeconds(t *testing.T) {
	f := newFleet(t, 3, func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 60 })
	threadsOf(2)(f.mc)
	f.settle()
	for ordinal := range 2 {
		if waited := f.nodes[ordinal].since - f.nodes[ordinal+1].since; waited < 60 {
			t.Errorf("%d has moved %d s after %d", ordinal, waited, ordinal+1)
		}
	}
}

// TestWaveWithoutTheConfigMap covers failed writes of the ConfigMap. No node changes, and only the size of the StatefulSet is
// written.
func TestWaveWithoutTheConfigMap(t *testing.T) {
	f := newFleet(t, 3)
	f.unwritable = true
	threadsOf(2)(f.mc)
	teamLabel(f.mc)
	memcachedtest.Size(4)(f.mc)
	for range 5 {
		f.turn()
	}
	if asked, writes := f.look(); writes != "StatefulSet" || len(f.nodes) != 4 || sectionOf(f.updated) != sectionOf(f.nodes[0].template) {
		t.Errorf("asks %s, writes %s", asked, writes)
	}
	f.unwritable = false
	f.settle()
}

// TestCutOffNodesKeepTheirArguments checks that nodes whose cluster nodes have lost contact get no new arguments: all of them would
// restart when the contact is back.
func TestCutOffNodesKeepTheirArguments(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 5)
	threadsOf(2)(f.mc)
	for _, ordinal := range []int{0, 1, 2} {
		f.nodes[ordinal].cutOff = true
	}
	for range 5 {
		f.turn()
	}
	for ordinal, node := range f.nodes {
		if node.list.Value("-t") != "4" {
			t.Errorf("node %d has restarted", ordinal)
		}
		node.cutOff = false
	}
	f.settle()
}
