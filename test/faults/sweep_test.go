// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
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
	"github.com/example/memcached-operator/internal/memcachedproxy"
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
	if difference := gocmp.Diff(first.state, second.state) + gocmp.Diff(first.changes, second.changes); difference != "" {
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

// faultsOf returns the faults for a scenario, given the outcome of a run without a fault. Each write gets the write faults, except for
// refused repetitions of a write. Each resource with events gets the watch faults and a restart with a stale cache. Every scenario
// also gets a restart in which all resources are stale.
func faultsOf(o *outcome) []*fault {
	var faults []*fault
	for _, w := range o.writes {
		if w.Code >= http.StatusBadRequest && w.nth > 1 {
			continue
		}
		for _, what := range []string{crashBefore, crashAfter, lostResponse, internal500} {
			faults = append(faults, &fault{what: what, write: w.kind(), nth: w.nth, step: w.step})
		}
	}
	for _, resource := range resources {
		if o.watched[resource] == 0 {
			continue // there was no event that could fail, and a stale state would equal the current one
		}
		for _, what := range []string{expired, dropped, stale} {
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
	lagging, inject := f != nil && f.what == stale, f
	if lagging {
		inject = nil
	}
	r.wire.arm(inject, r.snapshots())
	s.act(r)
	r.await("converge", s.converged(want))
	watched := r.wire.counts()
	switch {
	case lagging:
		r.restartWithStaleCache(f)
	case f != nil && !r.awaitInjection(f):
		if r.wire.reachedWithoutFault(f) {
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
	case <-r.wire.injected:
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
	r.wire.serveStaleFor(late...)
	r.restart()
	r.must(<-r.restarted)
	r.must(eventually(r.ctx, "the operator did not receive the stale state", r.wire.staleServed))
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
	for _, name := range []string{cacheName, twinName} {
		if latest(history.of(r.namespace))["memcacheds/"+name] == nil {
			continue
		}
		unchanged := o.reconciles("Unchanged")
		r.note(name)
		r.must(eventually(r.ctx, "the operator did not reconcile after a foreign annotation",
			func() bool { return o.reconciles("Unchanged") > unchanged }))
	}
	r.triggerFront(o)
}

// converged checks that the scenario has reached its end. If want is not nil, the state must equal that of the reference run.
func (s scenario) converged(want *outcome) func(objects) string {
	var checks []func(objects) string
	if s.done != nil {
		checks = append(checks, s.done)
	}
	if s.name != deletion {
		checks = append(checks, settled, frontSettled)
	}
	if want != nil {
		checks = append(checks, func(now objects) string { return gocmp.Diff(want.state, state(now)) })
	}
	return all(checks...)
}

// all returns a check for everything that the checks find missing.
func all(checks ...func(objects) string) func(objects) string {
	return func(now objects) string {
		for _, check := range checks {
			if missing := check(now); missing != "" {
				return missing
			}
		}
		return ""
	}
}

// verifyQuiescence reconciles again, in the same process and in a new one, and returns the outcome of the run. Neither reconciliation
// may write anything.
func (r *scenarioRun) verifyQuiescence(s scenario) *outcome {
	r.Helper()
	got := &outcome{writes: r.wire.written()}
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
	if writes := r.wire.written(); len(writes) > len(got.writes) {
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

// verify checks what must be true in every run. Unless want is nil, it also compares the run with the reference run.
func (r *scenarioRun) verify(got, want *outcome) {
	r.Helper()
	if want != nil {
		if difference := gocmp.Diff(want.changes, got.changes); difference != "" {
			r.Errorf("the objects were not created, changed and deleted as in the reference run (-reference +got):\n%s", difference)
		}
	}
	entries := history.of(r.namespace)
	found := slices.Concat(frontViolations(entries), twinViolations(entries), statusViolations(entries), budgetViolations(entries))
	if len(found) > 0 {
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
	if count := panics(); count > 0 {
		r.Errorf("%v reconciliations panicked", count)
	}
}

// ourWrites matches the writes that the operator may send, each with the name of the object.
var ourWrites = func() *regexp.Regexp {
	either := "(" + cacheName + "|" + twinName + ")"
	return regexp.MustCompile("^(" + strings.Join([]string{
		"(patch|delete) (deployments|statefulsets|poddisruptionbudgets|networkpolicies) " + either,
		"patch (services|memcacheds/status) " + either,
		"(patch|delete) configmaps " + either + "(" + memcached.ServersSuffix + "|" + memcached.ArgumentsSuffix + ")",
		"(delete pods|patch pods|patch pods/resize) " + either + `-\d+`,
		"patch (services|poddisruptionbudgets|deployments|memcachedproxies/status) " + frontName,
		"patch configmaps " + frontName + memcachedproxy.RoutesSuffix,
	}, "|") + ")$")
}()

// panics returns how many reconciliations have panicked. controller-runtime recovers from a panic, so only this count reveals it.
func panics() float64 {
	return sumCounters(ctrlmetrics.Registry, "controller_runtime_reconcile_panics_total")
}

// sumCounters returns the sum of the counters in a metric family. With values, it adds only the series whose first label has one of
// these values.
func sumCounters(gatherer prometheus.Gatherer, name string, values ...string) float64 {
	families, err := gatherer.Gather()
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (len(values) == 0 || slices.Contains(values, metric.GetLabel()[0].GetValue())) {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// snapshots returns the JSON responses that the operator would now receive to its list requests, by resource.
func (r *scenarioRun) snapshots() map[string][]byte {
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
