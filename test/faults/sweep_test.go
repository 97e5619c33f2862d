// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// outcome is the result of a run. The fields state and changes contain what the functions with these names return after the run.
type outcome struct {
	state   map[string]string
	changes map[string][]string
	// writes are the writes of the operator. watched is how many events of each resource the operator received.
	writes  []write
	watched map[string]int
}

// reference runs a scenario twice without a fault. Both runs must have the same final state and the same changes. reference returns
// the outcome of the run with fewer writes: later runs are more likely to repeat all of these.
func reference(t *testing.T, s scenario) *outcome {
	t.Helper()
	first, second := s.run(t, nil, nil), s.run(t, nil, nil)
	if difference := cmp.Diff(first.state, second.state) + cmp.Diff(first.changes, second.changes); difference != "" {
		t.Fatalf("two runs without a fault differ:\n%s", difference)
	}
	if len(second.writes) < len(first.writes) {
		return second
	}
	return first
}

// TestSweep runs every scenario with each of its faults. A scenario with one fault is a plan. The environment variable FAULT_PLAN
// selects a single plan.
func TestSweep(t *testing.T) {
	only := os.Getenv("FAULT_PLAN")
	var injected, notReached atomic.Int32
	for _, s := range slices.Concat(scenarios, statefulSetScenarios, frontScenarios, twinScenarios) {
		if name, _, _ := strings.Cut(only, "/"); only != "" && name != s.name {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := reference(t, s)
			for _, f := range s.faultsOf(want) {
				plan := s.name + "/" + f.String()
				if only != "" && only != plan {
					continue
				}
				t.Run(f.String(), func(t *testing.T) {
					t.Parallel()
					t.Cleanup(func() {
						if t.Failed() {
							t.Logf("to run only this plan: FAULT_PLAN=%s make test-faults TEST_FLAGS='-run TestSweep'", plan)
						}
					})
					if s.runUntilInjected(t, f, want) {
						injected.Add(1)
					} else {
						notReached.Add(1)
					}
				})
			}
		})
	}
	t.Cleanup(func() { // after all plans
		// A run may lack the write that should fail, because a few writes depend on the load of the machine.
		done, all := injected.Load(), injected.Load()+notReached.Load()
		t.Logf("the fault was injected in %d of %d plans", done, all)
		if all == 0 || only == "" && all-done > all/20 {
			t.Error("too few")
		}
	})
}

// runUntilInjected runs a scenario up to three times, until its fault is injected. A run may lack the write that should fail: when events
// follow each other quickly, the operator sends fewer status writes.
func (s scenario) runUntilInjected(t *testing.T, f *fault, want *outcome) bool {
	t.Helper()
	for range 3 {
		if s.run(t, f, want) != nil || t.Failed() {
			return true
		}
	}
	return false
}

type faultSet struct{ writes, watches []string }

// faultsOf returns the faults for a scenario, given the outcome of a run without a fault. Each write gets the write faults, except for
// refused repetitions of a write. Each resource with events gets the watch faults and a restart with a stale cache. Every scenario
// also gets a restart in which all resources are stale.
func (s scenario) faultsOf(o *outcome) []*fault {
	var faults []*fault
	set := faultSet{writes: writeFaults, watches: watchFaults}
	if s.faults != nil {
		set = *s.faults
	}
	for _, w := range o.writes {
		if w.Code >= http.StatusBadRequest && w.nth > 1 {
			continue
		}
		for _, what := range set.writes {
			faults = append(faults, &fault{what: what, write: w.kind(), nth: w.nth, step: w.step})
		}
	}
	for _, resource := range resources {
		if o.watched[resource] == 0 {
			continue // there was no event that could fail, and a stale state would equal the current one
		}
		for _, what := range append(slices.Clone(set.watches), stale) {
			faults = append(faults, &fault{what: what, watch: resource})
		}
	}
	return append(faults, &fault{what: stale, watch: "all"})
}

// run runs the scenario and verifies the outcome. f is the fault to inject, or nil. want is the outcome of the reference run, or nil
// if this is the reference run. run returns nil if the fault was not reached.
func (s scenario) run(t *testing.T, f *fault, want *outcome) *outcome {
	t.Helper()
	r := newScenarioRun(t)
	defer r.end()
	if s.setup != nil {
		s.setup(r)
	}
	r.awaitCacheSync()
	r.proxy.setSnapshots(r.snapshots())
	lagging := f != nil && f.what == stale
	if lagging {
		r.proxy.arm(nil)
	} else {
		r.proxy.arm(f)
	}
	s.act(r)
	r.await("converge", s.converged(want))
	watched := r.proxy.counts()
	switch {
	case lagging:
		r.restartWithStaleCache(f)
	case f != nil && !r.awaitInjection(f):
		if r.proxy.reachedWithoutFault(f) {
			r.Error("the fault applied to a request, but was not injected")
		}
		return nil
	}
	if s.name != deletion {
		// The first reconciliation includes the last events. The operator counts a reconciliation before it writes the status. So only the
		// count of the second one shows that the first one has ended.
		r.triggerReconcile(r.operator)
		r.triggerReconcile(r.operator)
	}
	r.awaitCacheSync()
	r.await("converge after another reconciliation", s.converged(want))
	got := r.verifyQuiescence(s)
	got.watched = watched
	r.verify(got, want)
	return got
}

// awaitInjection reports whether the fault is injected in time. After a fault that crashes the operator, it also waits for the
// restart.
func (r *scenarioRun) awaitInjection(f *fault) bool {
	r.Helper()
	select {
	case <-r.proxy.injected:
	case <-time.After(requestTimeout + freezeDuration):
		return false
	}
	if f.what == crashBefore || f.what == crashAfter {
		select {
		case err := <-r.restarted:
			r.must(err)
		case <-r.ctx.Done():
			r.Fatal("the operator did not restart")
		}
	}
	return true
}

// restartWithStaleCache restarts the operator, gives it the state from before the user actions, and waits until it has the current
// state.
func (r *scenarioRun) restartWithStaleCache(f *fault) {
	r.Helper()
	late := []string{f.watch}
	if f.watch == "all" {
		late = resources
	}
	r.proxy.serveStaleFor(late...)
	r.restart()
	r.must(<-r.restarted)
	r.must(eventually(r.ctx, "the operator did not receive the stale state", r.proxy.staleServed))
	r.awaitCacheSync()
}

func (r *scenarioRun) awaitCacheSync() {
	r.Helper()
	r.must(eventually(r.ctx, "the caches of the operator are not current", func() bool { return r.cacheSynced(r.operator) }))
}

// cacheSynced reports whether the operator's caches contain exactly the existing objects in their latest versions.
func (r *scenarioRun) cacheSynced(o *operator) bool {
	now := latest(history.of(r.namespace))
	for resource, kind := range kinds {
		list := listOf(kind)
		if err := o.manager.GetCache().List(r.ctx, list, client.InNamespace(r.namespace)); err != nil {
			return false // the process does not watch yet
		}
		r.must(meta.EachListItem(list, func(cached runtime.Object) error {
			object := cached.(client.Object)
			if live := now[resource+"/"+object.GetName()]; live == nil || live.GetResourceVersion() != object.GetResourceVersion() {
				now["stale"] = object
			}
			delete(now, resource+"/"+object.GetName())
			return nil
		}))
	}
	return len(now) == 0
}

// triggerReconcile triggers reconciliations by changes that require no action, and waits for them.
func (r *scenarioRun) triggerReconcile(o *operator) {
	r.Helper()
	for _, name := range memcachedsIn(history.of(r.namespace)) {
		unchanged := o.reconciles("Unchanged")
		r.note(name)
		r.must(eventually(r.ctx, "the operator did not reconcile after a foreign annotation",
			func() bool { return o.reconciles("Unchanged") > unchanged }))
	}
	r.triggerFront(o)
}

// converged checks that the scenario has reached its end. If want is not nil, the state must equal that of the reference run.
func (s scenario) converged(want *outcome) func(objects) string {
	return func(now objects) string {
		if s.done != nil {
			if missing := s.done(now); missing != "" {
				return missing
			}
		}
		if s.name != deletion {
			if missing := settled(now); missing != "" {
				return missing
			}
			if missing := frontSettled(now); missing != "" {
				return missing
			}
		}
		if want != nil {
			return cmp.Diff(want.state, state(now))
		}
		return ""
	}
}

// verifyQuiescence reconciles again, in the same process and in a new one, and returns the outcome of the run. Neither reconciliation
// may write anything.
func (r *scenarioRun) verifyQuiescence(s scenario) *outcome {
	r.Helper()
	got := &outcome{writes: r.proxy.written()}
	got.state = state(latest(history.of(r.namespace)))
	if s.name != deletion {
		r.triggerReconcile(r.operator)
	}
	r.restart()
	r.must(<-r.restarted)
	if s.name != deletion {
		r.must(eventually(r.ctx, "the new process did not find everything up to date",
			func() bool { return r.operator.reconciles("Unchanged") > 0 }))
		r.triggerReconcile(r.operator)
	}
	if writes := r.proxy.written(); len(writes) > len(got.writes) {
		r.Errorf("the operator wrote after it had converged: %v", writes[len(got.writes):])
	}
	got.changes = changes(history.of(r.namespace))
	return got
}

// eventually waits for a condition that the history does not show. If the context ends first, the error begins with the text in
// failure.
func eventually(ctx context.Context, failure string, check func() bool) error {
	for !check() {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", failure, context.Cause(ctx))
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond): // the condition has no event to wait for
		}
	}
	return nil
}
