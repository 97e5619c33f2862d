// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// outcome is the result of a run: what the function state returns at the end, the writes of the operator, and the resources that changed
// while users acted.
type outcome struct {
	state   map[string]string
	writes  []write
	changed map[string]bool
}

// TestSweep runs every scenario with each of its faults. A scenario with one fault is a plan. The environment variable FAULT_PLAN
// selects a single plan.
func TestSweep(t *testing.T) {
	only := os.Getenv("FAULT_PLAN")
	var injected, notReached atomic.Int32
	for _, s := range scenarios {
		if name, _, _ := strings.Cut(only, "/"); only != "" && name != s.name {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.reference(t)
			for _, f := range faultsOf(want) {
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

// reference runs a scenario twice without a fault. Both runs must have the same final state. reference returns the outcome of the run with
// fewer writes: later runs are more likely to repeat all of these.
func (s scenario) reference(t *testing.T) *outcome {
	t.Helper()
	first, second := s.run(t, nil, nil), s.run(t, nil, nil)
	if difference := gocmp.Diff(first.state, second.state); difference != "" {
		t.Fatalf("two runs without a fault differ:\n%s", difference)
	}
	if len(second.writes) < len(first.writes) {
		return second
	}
	return first
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

// everything stands for all resources, in the fault stale.
const everything = "all"

// faultsOf returns the faults for a scenario, given the outcome of a run without a fault: those of each write, except for refused repetitions
// of a write, and restarts with a stale cache of each resource that has changed, and of all.
func faultsOf(o *outcome) []*fault {
	var faults []*fault
	for _, w := range o.writes {
		if w.Code >= http.StatusBadRequest && w.nth > 1 {
			continue
		}
		for _, what := range []string{crashBefore, crashAfter, lostResponse, internal500} {
			faults = append(faults, &fault{what: what, on: w.kind(), nth: w.nth, step: w.step})
		}
	}
	for _, resource := range append(slices.Sorted(maps.Keys(o.changed)), everything) {
		faults = append(faults, &fault{what: stale, on: resource})
	}
	return faults
}

// run runs the scenario and verifies the outcome. f is the fault to inject, or nil. want is the outcome of the reference run, or nil
// if this is the reference run. run returns nil if the fault was not reached.
func (s scenario) run(t *testing.T, f *fault, want *outcome) *outcome {
	t.Helper()
	r := newRun(t)
	defer r.end()
	if s.setup != nil {
		s.setup(r)
	}
	r.awaitCacheSync()
	before := len(history.of(r.namespace))
	r.wire.arm(f, r.snapshots())
	s.act(r)
	r.await("converge", s.converged(want))
	got := &outcome{changed: map[string]bool{}}
	for _, e := range history.of(r.namespace)[before:] {
		got.changed[e.resource] = true
	}
	switch {
	case f != nil && f.what == stale:
		r.restartWithStaleCache(f)
	case f != nil && !r.awaitInjection(f):
		return nil
	}
	if s.name != deletion {
		// The first reconciliation includes the last events. The operator counts a reconciliation before it writes the status. So only the
		// count of the second one shows that the first one has ended.
		r.triggerReconcile()
		r.triggerReconcile()
	}
	r.awaitCacheSync()
	r.await("converge after another reconciliation", s.converged(want))
	got.state, got.writes = state(latest(history.of(r.namespace))), r.wire.written()
	r.verifyQuiescence(s, len(got.writes))
	r.verify()
	return got
}

// awaitInjection reports whether the fault is injected in time. After a fault that crashes the operator, it also waits for the
// restart.
func (r *run) awaitInjection(f *fault) bool {
	r.Helper()
	select {
	case <-r.wire.injected:
	case <-time.After(requestTimeout + lag):
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
func (r *run) restartWithStaleCache(f *fault) {
	r.Helper()
	late := []string{f.on}
	if f.on == everything {
		late = slices.Collect(maps.Keys(kinds))
	}
	r.wire.serveStaleFor(late...)
	r.restart()
	r.must(<-r.restarted)
	r.eventually("the operator did not receive the stale state", r.wire.staleServed)
	r.awaitCacheSync()
}

// awaitCacheSync waits until the operator's caches contain exactly the existing objects in their latest versions.
func (r *run) awaitCacheSync() {
	r.Helper()
	r.eventually("the caches of the operator are not current", func() bool {
		now := latest(history.of(r.namespace))
		for resource, kind := range kinds {
			list := listOf(kind)
			if err := r.operator.manager.GetCache().List(r.ctx, list, client.InNamespace(r.namespace)); err != nil {
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
	})
}

// triggerReconcile triggers a reconciliation by a change that requires no action, and waits for it.
func (r *run) triggerReconcile() {
	r.Helper()
	unchanged := r.operator.unchanged()
	r.note()
	r.eventually("the operator did not reconcile after a foreign annotation", func() bool { return r.operator.unchanged() > unchanged })
}

// converged checks that the scenario has reached its end. If want is not nil, the state must equal that of the reference run.
func (s scenario) converged(want *outcome) check {
	return func(now objects) string {
		missing := ""
		if s.name != deletion {
			missing = settled(now)
		}
		if missing == "" && s.done != nil {
			missing = s.done(now)
		}
		if missing == "" && want != nil {
			missing = gocmp.Diff(want.state, state(now))
		}
		return missing
	}
}

// verifyQuiescence reconciles again, in the same process and in a new one. Neither reconciliation may write anything.
func (r *run) verifyQuiescence(s scenario, before int) {
	r.Helper()
	if s.name != deletion {
		r.triggerReconcile()
	}
	r.restart()
	r.must(<-r.restarted)
	if s.name != deletion {
		r.eventually("the new process did not find everything up to date", func() bool { return r.operator.unchanged() > 0 })
		r.triggerReconcile()
	}
	if writes := r.wire.written(); len(writes) > before {
		r.Errorf("the operator wrote after it had converged: %v", writes[before:])
	}
}

// eventually waits for a condition that the history does not show.
func (r *run) eventually(failure string, check func() bool) {
	r.Helper()
	for !check() {
		select {
		case <-r.ctx.Done():
			r.Fatalf("%s: %v", failure, context.Cause(r.ctx))
		case <-time.After(10 * time.Millisecond): // the condition has no event to wait for
		}
	}
}

// verify checks what must be true in every run.
func (r *run) verify() {
	r.Helper()
	entries := history.of(r.namespace)
	if found := slices.Concat(routesViolations(entries), statusViolations(entries), budgetViolations(entries)); len(found) > 0 {
		r.Errorf("%s\nin this history:\n%s", strings.Join(found, "\n"), formatHistory(entries))
	}
	for _, w := range r.wire.written() {
		if !ourWrites.MatchString(w.kind() + " " + w.Name) {
			r.Errorf("the operator wrote an object that is not its own: %s %s", w.kind(), w.Name)
		}
	}
	for _, object := range r.foreign {
		now := object.DeepCopyObject().(client.Object)
		r.must(user.Get(r.ctx, client.ObjectKeyFromObject(object), now))
		if now.GetResourceVersion() != object.GetResourceVersion() {
			r.Errorf("the foreign %T %s was changed", object, object.GetName())
		}
	}
	// controller-runtime recovers from a panic, so only this count reveals it.
	if count := sumCounters(ctrlmetrics.Registry, "controller_runtime_reconcile_panics_total", ""); count > 0 {
		r.Errorf("%v reconciliations panicked", count)
	}
}

// ourWrites matches the writes that the operator may send, each with the name of the object.
var ourWrites = regexp.MustCompile("^(" + strings.Join([]string{
	"(patch|delete) (deployments|statefulsets|poddisruptionbudgets|networkpolicies) cache(-b|-proxy)?",
	"(patch|delete) services cache(-nodes)?",
	"patch memcacheds/status cache",
	"(patch|delete) configmaps cache(-servers|-arguments|-routes)",
	`(delete pods|patch pods|patch pods/resize|create pods/eviction) cache(-b)?-\d+`,
}, "|") + ")$")

// sumCounters returns the sum of the counters in a metric family. Unless the value is empty, it adds only the series whose first label has
// this value.
func sumCounters(gatherer prometheus.Gatherer, name, value string) float64 {
	families, err := gatherer.Gather()
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (value == "" || metric.GetLabel()[0].GetValue() == value) {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// snapshots returns the JSON responses that the operator would now receive to its list requests, by resource.
func (r *run) snapshots() map[string][]byte {
	r.Helper()
	k8s, err := discovery.NewDiscoveryClientForConfig(config)
	r.must(err)
	found := map[string][]byte{}
	for resource, kind := range kinds {
		path := "/apis/" + kind.GroupVersion().String()
		if kind.Group == "" {
			path = "/api/" + kind.Version
		}
		request := k8s.RESTClient().Get().AbsPath(path, "namespaces", r.namespace, resource)
		if kind.Group != cachev1alpha1.GroupVersion.Group {
			request.Param("labelSelector", memcached.ManagedByLabel+"="+memcached.ManagedBy)
		}
		found[resource], err = request.DoRaw(r.ctx)
		r.must(err)
	}
	return found
}
