// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// pair simulates two caches that are twins: each names the other in spec.fillFrom.
type pair struct {
	a, b   *fleet
	random *rand.Rand
	// lost holds the node numbers for which the test accepts that neither cache has a serving node with all items.
	lost map[int]bool
}

func newPair(t *testing.T, seed uint64, size int32) *pair {
	t.Helper()
	p := &pair{random: rand.New(rand.NewPCG(seed, 1)), lost: map[int]bool{}}
	for name, twin := range map[string]string{"cache": "twin", "twin": "cache"} {
		mc := memcachedtest.Cache(size, workloadKind(statefulSetKind))
		mc.Name, mc.Spec.FillFrom = name, &cachev1alpha1.MemcachedFillFrom{Name: twin}
		mc.Spec.Config.Dump = ptr.To(true)
		f := &fleet{t: t, mc: mc, opts: memcachedtest.Options, nodes: map[int]*fakeNode{}, before137: seed%2 == 0}
		if name == "cache" {
			p.a = f
		} else {
			p.b = f
		}
	}
	p.a.twin, p.b.twin = p.b, p.a
	p.settle()
	return p
}

// turn lets the operator, the controller and the nodes of both caches act in random order. After each step, it checks that of two
// nodes with the same number, at least one serves with all items.
func (p *pair) turn() {
	for _, f := range p.both() {
		acts := []func(){
			f.act, f.report, f.report, f.tick, f.reconcile, f.reconcile, func() { f.deliver(p.random.IntN(int(f.mc.Spec.Size))) },
		}
		p.random.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
		for _, act := range acts {
			act()
			p.check()
		}
	}
}

func (p *pair) both() []*fleet {
	if p.random.IntN(2) == 0 {
		return []*fleet{p.b, p.a}
	}
	return []*fleet{p.a, p.b}
}

func (p *pair) check() {
	for ordinal := range int(p.a.mc.Spec.Size) {
		whole := p.a.nodes[ordinal].whole() || p.b.nodes[ordinal].whole()
		if whole {
			delete(p.lost, ordinal)
		} else if !p.lost[ordinal] {
			p.a.t.Fatalf("both nodes %d are away; cache: %s\ntwin: %s", ordinal,
				strings.Join(p.a.log, "\n"), strings.Join(p.b.log, "\n"))
		}
	}
}

func (p *pair) settled() bool {
	for _, f := range p.both() {
		view, plan := f.decide()
		if f.set == nil || len(f.nodes) != int(f.mc.Spec.Size) || plan.Wave.Open || plan.Twins.Waits != "" || view.Began() ||
			sectionOf(f.current) != sectionOf(f.updated) || encode(plan.Workload()) != encode(f.plan.Workload()) {
			return false
		}
		for _, node := range f.nodes {
			if !node.whole() || sectionOf(node.template) != sectionOf(f.updated) || node.list.String() != f.want(plan).String() {
				return false
			}
		}
	}
	return true
}

func (p *pair) settle() {
	p.a.t.Helper()
	if p.a.set == nil { // both caches start empty
		for ordinal := range int(p.a.mc.Spec.Size) {
			p.lost[ordinal] = true
		}
	}
	for range 1000 {
		p.turn()
		if p.settled() {
			for _, f := range p.both() {
				f.report()
				f.reconcile()
				f.reconcile()
				if got := *f.set.Spec.UpdateStrategy.RollingUpdate.Partition; got != f.mc.Spec.Size {
					f.fail("at rest, the partition is %d", got)
				}
				if f.plan.Twins.Problem != nil || f.plan.Twins.Asking || len(f.plan.Twins.Filled) != len(f.nodes) {
					f.fail("at rest: %+v", f.plan.Twins)
				}
			}
			return
		}
	}
	p.a.t.Fatalf("they do not settle: %q, %q\n%s\n%s", p.a.plan.Twins.Waits, p.b.plan.Twins.Waits,
		strings.Join(p.a.log, "\n"), strings.Join(p.b.log, "\n"))
}

// TestTwinsNeverLeaveTogether covers changes of one twin, and of both at once or one after the other, while operators, controllers
// and nodes act in random order.
func TestTwinsNeverLeaveTogether(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *pair){
		"another template of both":      func(p *pair) { p.each(teamLabel) },
		"another configuration of both": func(p *pair) { p.each(threadsOf(2)) },
		"both of both":                  func(p *pair) { p.each(threadsOf(2), teamLabel) },
		"more memory of both":           func(p *pair) { p.each(memoryOf("128Mi")) },
		"many at once":                  func(p *pair) { p.each(atOnce(3), threadsOf(2), teamLabel) },
		"the second one first": func(p *pair) {
			p.b.change(teamLabel)
			p.turns(9)
			p.a.change(teamLabel)
		},
		"one by template, one by configuration": func(p *pair) {
			p.b.change(threadsOf(2))
			p.turns(5)
			p.a.change(teamLabel)
		},
		"a change of mind": func(p *pair) {
			p.each(teamLabel, threadsOf(2))
			p.turns(12)
			p.each(func(mc *cachev1alpha1.Memcached) { mc.Spec.PodMetadata.Labels = nil }, threadsOf(4))
		},
		"a larger size": func(p *pair) {
			p.lost[3], p.lost[4] = true, true
			p.each(memcachedtest.Size(5), teamLabel)
		},
		"for a node without room": func(p *pair) {
			p.a.nodes[0].unscheduled = true
			p.a.change(teamLabel)
		},
		"only the second one": func(p *pair) { p.b.change(teamLabel, threadsOf(2)) },
		"the status is lost": func(p *pair) {
			p.each(teamLabel)
			p.turns(7)
			p.a.mc.Status, p.b.mc.Status = cachev1alpha1.MemcachedStatus{}, cachev1alpha1.MemcachedStatus{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2) {
				p := newPair(t, seed, 3)
				change(p)
				p.settle()
			}
		})
	}
}

func (f *fleet) change(changes ...func(*cachev1alpha1.Memcached)) {
	for _, change := range changes {
		change(f.mc)
	}
	f.mc.Generation++
}

func (p *pair) each(changes ...func(*cachev1alpha1.Memcached)) {
	for _, f := range p.both() {
		f.change(changes...)
		if p.random.IntN(3) == 0 {
			p.turns(1)
		}
	}
}

func (p *pair) turns(count int) {
	for range count {
		p.turn()
	}
}

// TestTheSmallerNameGoesFirst checks that all nodes of the cache with the smaller name are replaced before any node of the other
// cache.
func TestTheSmallerNameGoesFirst(t *testing.T) {
	t.Parallel()
	p := newPair(t, 1, 3)
	p.a.log, p.b.log = nil, nil
	p.a.change(teamLabel)
	p.b.change(teamLabel)
	leaves := func(f *fleet) int {
		return len(slices.DeleteFunc(slices.Clone(f.log), func(line string) bool { return !strings.HasSuffix(line, "leaves") }))
	}
	waited := false
	for range 1000 {
		p.turn()
		if leaves(p.b) > 0 && leaves(p.a) < 3 {
			t.Fatalf("the second one has begun after %d nodes", leaves(p.a))
		}
		waited = waited || strings.Contains(p.b.plan.Twins.Waits, "Waiting for the rollout of its twin cache to end")
		if p.settled() {
			break
		}
	}
	if leaves(p.a) != 3 || leaves(p.b) != 3 || !waited {
		t.Errorf("%d and %d nodes have left", leaves(p.a), leaves(p.b))
	}
}

// TestWhatATwinMustHave covers states of twins in which a node may stop, and states in which it may not.
func TestWhatATwinMustHave(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]struct {
		happens func(p *pair)
		waits   string
		leaves  string
	}{
		"a node of the twin is away":         {func(p *pair) { p.b.nodes[0].unready = true }, "all nodes of its twin twin are ready: 2 of 3 are", ""},
		"a node of the twin is being filled": {func(p *pair) { p.b.nodes[2].filling, p.b.nodes[2].late = 99, 99 }, "the node twin-2 of its twin has all items", ""},
		"a node of the twin is silent":       {func(p *pair) { p.b.nodes[2].silent = true }, "an answer of the node twin-2 of its twin on port 9151", ""},
		"nothing":                            {func(*pair) {}, "", "2 leaves"},
		"a node is away itself":              {func(p *pair) { p.a.nodes[2].unready = true }, "", "2 leaves"},
		"the twin is being deleted":          {func(p *pair) { p.b.mc.DeletionTimestamp = ptr.To(metav1.Now()) }, "", "2 leaves"},
		"the twin has no such node": {func(p *pair) {
			p.b.mc.Spec.Size = 2
			for range 3 {
				p.b.reconcile()
				p.b.act()
				p.b.report()
			}
		}, "", "2 leaves"},
		"both are away": {func(p *pair) {
			p.lost[2] = true
			p.a.nodes[2].unready, p.b.nodes[2].unready = true, true
		}, "", "2 leaves"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, 1, 3)
			story.happens(p)
			p.a.report()
			p.b.report()
			p.a.log = nil
			p.a.change(teamLabel)
			for range 3 {
				p.a.reconcile()
				p.a.report()
			}
			if got := p.a.plan.Twins.Waits; !strings.Contains(got, story.waits) || (got == "") != (story.waits == "") {
				t.Errorf("it waits for %q, want %q", got, story.waits)
			}
			p.a.act()
			if left := fmt.Sprint(p.a.log); strings.Contains(left, "leaves") != (story.leaves != "") || !strings.Contains(left, story.leaves) {
				t.Errorf("it did %s", left)
			}
		})
	}
}
