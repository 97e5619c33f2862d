// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// outcome is the result of a run: what the function state returns at the end, the writes of the operator, and the resources that changed
// while users acted.
type outcome struct {
	state   map[string]string
	writes  []write
	changed map[string]bool
}

// TestSweep runs every scenario with each of its faults. A scenario with one fault is a plan.
func TestSweep(t *testing.T) {
	var injected, plans atomic.Int32
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.reference(t)
			for _, f := range faultsOf(want) {
				t.Run(f.String(), func(t *testing.T) {
					t.Parallel()
					plans.Add(1)
					for range 3 { // when events follow each other quickly, the operator sends fewer status writes
						if s.run(t, f, want) != nil || t.Failed() {
							injected.Add(1)
							return
						}
					}
				})
			}
		})
	}
	t.Cleanup(func() { // after all plans
		// A run may lack the write that should fail, because a few writes depend on the load of the machine.
		t.Logf("the fault was injected in %d of %d plans", injected.Load(), plans.Load())
		if injected.Load()*20 < plans.Load()*19 {
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

// everything stands for all resources, in the fault stale.
const everything = "all"

// faultsOf returns the faults for a scenario, given the outcome of a run without a fault: those of each write, and restarts with a stale
// cache of each resource that has changed, and of all.
func faultsOf(o *outcome) (faults []*fault) {
	for _, w := range o.writes {
		for _, what := range []string{crashBefore, crashAfter, lostResponse, internal500} {
			faults = append(faults, &fault{what: what, at: w})
		}
	}
	for _, resource := range append(slices.Sorted(maps.Keys(o.changed)), everything) {
		faults = append(faults, &fault{what: stale, at: write{kind: resource}})
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
	before, _ := r.history.all()
	r.wire.arm(f, latest(before))
	s.act(r)
	r.await("converge", s.converged(r, want))
	got := &outcome{changed: map[string]bool{}}
	after, _ := r.history.all()
	for _, e := range after[len(before):] {
		got.changed[e.resource] = true
	}
	switch {
	case f != nil && f.what == stale:
		r.restartWithStaleCache(f)
	case f != nil && !r.awaitInjection():
		return nil
	}
	r.reconcile()
	r.awaitCacheSync()
	r.await("converge after another reconciliation", s.converged(r, want))
	got.state, got.writes = state(r.history.now()), r.wire.written()
	r.reconcile()
	r.must(r.restart())
	r.reconcile()
	if writes := r.wire.written(); len(writes) > len(got.writes) {
		r.Errorf("the operator wrote after it had converged: %v", writes[len(got.writes):])
	}
	r.verify(s, latest(before))
	return got
}

// converged checks that the scenario has reached its end. If want is not nil, the state must equal that of the reference run.
func (s scenario) converged(r *run, want *outcome) check {
	return func(now objects) (missing string) {
		if s.name != deletion {
			missing = r.settled(now)
		}
		if missing == "" && s.done != nil {
			missing = s.done(now)
		}
		if missing == "" && s.restores {
			missing = r.restored(now)
		}
		if missing == "" && want != nil {
			missing = gocmp.Diff(want.state, state(now))
		}
		return missing
	}
}

// restored checks that all is as it was before users acted.
func (r *run) restored(now objects) string { return gocmp.Diff(state(r.wire.before), state(now)) }

// awaitInjection reports whether the fault is injected in time. After a crash, it waits for the restart.
func (r *run) awaitInjection() bool {
	r.Helper()
	select {
	case err := <-r.wire.injected:
		r.must(err)
		return true
	case <-time.After(5 * time.Second):
		return false
	}
}

// restartWithStaleCache restarts the operator, which first reconciles the state from before the user actions. It may write a status and try
// to delete what is gone, but must neither create nor change anything else.
func (r *run) restartWithStaleCache(f *fault) {
	r.Helper()
	before := len(r.wire.written())
	r.wire.lagging.Store(f.at.kind)
	r.must(r.restart())
	r.reconcile()
	r.wire.lagging.Store("")
	for _, w := range r.wire.written()[before:] {
		if w.kind != "patch memcacheds/status" && !strings.HasPrefix(w.kind, "delete ") {
			r.Errorf("because of a stale cache, the operator sent: %s %s", w.kind, w.name)
		}
	}
}

// awaitCacheSync waits until the operator's caches contain the existing objects in their latest versions.
func (r *run) awaitCacheSync() {
	r.Helper()
	r.eventually("the caches of the operator are not current", func() bool {
		for _, object := range r.history.now() {
			cached := object.DeepCopyObject().(client.Object)
			err := r.operator.manager.GetCache().Get(r.ctx, client.ObjectKeyFromObject(object), cached)
			if err != nil || cached.GetResourceVersion() != object.GetResourceVersion() {
				return false
			}
		}
		return true
	})
}

// reconcile waits until the operator has reconciled everything so far: when the second reconciliation begins, the first one has ended. A
// process that has just started may miss changes, so there is another one at each attempt.
func (r *run) reconcile() {
	r.Helper()
	for range 2 {
		begun := r.operator.begun.Load()
		r.eventually("the operator did not reconcile", func() bool {
			r.note()
			return r.operator.begun.Load() > begun
		})
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
func (r *run) verify(s scenario, before objects) {
	r.Helper()
	entries, _ := r.history.all()
	found := slices.Concat(routesViolations(entries), statusViolations(entries), budgetViolations(entries))
	for _, w := range r.wire.written() {
		if !strings.HasPrefix(w.name, cacheName) {
			found = append(found, "the operator wrote an object that is not its own: "+w.kind+" "+w.name)
		}
	}
	ours := func(e entry) bool { return e.object.GetName() != theirs }
	if others := slices.DeleteFunc(slices.Clone(entries), ours); len(others) > len(foreignObjects())-1 {
		found = append(found, "an object of others was changed")
	}
	for key, pod := range before {
		if now := latest(entries)[key]; s.keepsPods && strings.HasPrefix(key, "pods/") && (now == nil || now.GetUID() != pod.GetUID()) {
			found = append(found, "the change in place has replaced "+key)
		}
	}
	if len(found) == 0 {
		return
	}
	for _, e := range entries {
		found = append(found, fmt.Sprintf("%d %s deleted: %t %+v", e.version(), e.key(), e.deleted, objects{e.key(): e.object}.cache()))
	}
	r.Error(strings.Join(found, "\n"))
}

// workloadsOf returns the keys of the workloads of the nodes, the first copy first.
func workloadsOf(mc *cachev1alpha1.Memcached) []string {
	if mc.Spec.Workload != cachev1alpha1.WorkloadStatefulSet {
		return []string{"deployments/" + cacheName}
	}
	return []string{"statefulsets/" + cacheName, "statefulsets/" + cacheName + "-b"}[:max(mc.Spec.Copies, 1)]
}

// settled checks that the Memcached is Ready for its current spec, and that the objects are what it says.
func (r *run) settled(now objects) string {
	mc := now.cache()
	if mc == nil {
		return "there is no Memcached"
	}
	if missing := cmp.Or(unfinished(mc, now), r.proxiesUnfinished(mc, now)); missing != "" {
		return missing
	}
	var nodes []string
	for _, pod := range now.pods(now[workloadsOf(mc)[0]]) {
		nodes = append(nodes, pod.Name)
	}
	ready := meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	return unless(ready && mc.Status.ObservedGeneration == mc.Generation && slices.Equal(nodes, mc.Status.Nodes),
		"the nodes are %v in generation %d; the status is %+v", nodes, mc.Generation, mc.Status)
}

// unfinished returns what of the spec is not true of the workloads and pods of the nodes.
func unfinished(mc *cachev1alpha1.Memcached, now objects) string {
	for _, key := range workloadsOf(mc) {
		w := now[key]
		if w == nil || !metav1.IsControlledBy(w, mc) {
			return "there is no " + key
		}
		pods := now.pods(w)
		if len(pods) != int(mc.Spec.Size) {
			return fmt.Sprintf("%s has %d pods, want %d", key, len(pods), mc.Spec.Size)
		}
		for _, pod := range pods {
			arguments, image := " "+listIn(now, pod)+" ", pod.Spec.Containers[0].Image
			if !podReady(pod) || pod.DeletionTimestamp != nil || image != cmp.Or(mc.Spec.Image, defaults.DefaultImage) ||
				!strings.Contains(arguments, fmt.Sprintf(" -m %d ", mc.Spec.Config.Memory.Value()>>20)) ||
				!strings.Contains(arguments, fmt.Sprintf(" -t %d ", cmp.Or(mc.Spec.Config.Threads, 4))) {
				return fmt.Sprintf("%s is %v with %s and%s", pod.Name, pod.Status.Conditions, image, arguments)
			}
		}
	}
	return ""
}

// listIn returns the arguments that a pod was last asked for.
func listIn(now objects, pod *corev1.Pod) string {
	if entry := entryOf(now, pod); entry.Number != 0 {
		return entry.Arguments
	}
	return strings.Join(pod.Spec.Containers[0].Args, " ")
}

// proxiesUnfinished returns what is wrong with the proxies, if there should be some: the routes must have taken effect.
func (r *run) proxiesUnfinished(mc *cachev1alpha1.Memcached, now objects) string {
	pool, at, status := poolIn(now), r.Now(), mc.Status.Proxies
	return unless(mc.Spec.Proxy == nil && mc.Spec.Copies <= 1 ||
		pool.At(at) == int(mc.Spec.Size) && pool.Wait(at) == 0 && status != nil && status.Nodes == mc.Spec.Size,
		"the routes have %+v; the status is %+v", pool, status)
}

// poolIn returns the pool of the routes, or an empty one.
func poolIn(now objects) protocol.Pool {
	config := cmp.Or(get[*corev1.ConfigMap](now, "configmaps/"+routesName), &corev1.ConfigMap{})
	routes, _ := protocol.ParseRoutes(config.Data[protocol.RoutesKey])
	return routes.Pool
}

// state returns the existing objects as JSON, by resource and name, without what differs between runs.
func state(now objects) map[string]string {
	texts := map[string]string{}
	for key, object := range now {
		object, namespace := object.DeepCopyObject().(client.Object), object.GetNamespace()
		object.SetManagedFields(nil)
		delete(object.GetLabels(), noted)
		delete(object.GetAnnotations(), memcached.WakeAnnotation) // it only makes the kubelet update its copy of a ConfigMap sooner
		if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
			budget.Status = policyv1.PodDisruptionBudgetStatus{}
		}
		texts[key] = normalized(object, namespace)
	}
	return texts
}

// normalized returns an object as JSON, without what differs between runs.
func normalized(object any, namespace string) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return differing.ReplaceAllString(strings.ReplaceAll(string(text), namespace, ""), "...")
}

// differing matches what differs between runs: times, UIDs, versions, addresses, and the hashes of what contains the namespace or a UID.
var differing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|` +
	`"(resourceVersion|generation|observedGeneration|clusterIPs?)":[^,}]+|applied(-hash)?\\?":\\?"[0-9a-f]+`)

// budgetViolations checks the budget of StatefulSets, which is one node of all copies: while one that has been ready once is away, the
// operator must not stop another one.
func budgetViolations(entries []entry) (found []string) {
	now, served := objects{}, map[string]bool{}
	for _, e := range entries {
		before := now.members()
		now.add(e)
		pod, ok := e.object.(*corev1.Pod)
		if !ok {
			continue
		}
		members := now.members()
		serves, member := members[pod.Name]
		for other, present := range members {
			if member && before[pod.Name] && !serves && !lost(pod) && other != pod.Name && served[other] && !present {
				found = append(found, fmt.Sprintf("version %d: %s stops while %s is away", e.version(), pod.Name, other))
			}
		}
		served[pod.Name] = served[pod.Name] || serves
	}
	return found
}

// members returns the nodes of the operator's StatefulSets. The value is true for those that serve: they are ready, do not terminate, and
// are not about to restart with a new image.
func (o objects) members() map[string]bool {
	members := map[string]bool{}
	for _, object := range o {
		if set, ok := object.(*appsv1.StatefulSet); ok && ownedByMemcached(set) {
			for ordinal := range *set.Spec.Replicas {
				name := fmt.Sprintf("%s-%d", set.Name, ordinal)
				pod := get[*corev1.Pod](o, "pods/"+name)
				members[name] = podReady(pod) && pod.DeletionTimestamp == nil &&
					pod.Status.ContainerStatuses[0].Image == pod.Spec.Containers[0].Image
			}
		}
	}
	return members
}

// routesViolations checks that the time does not change at which an announced number of nodes takes effect, because some proxies may
// already have read it.
func routesViolations(entries []entry) (found []string) {
	var was protocol.Pool
	for _, e := range entries {
		is := poolIn(objects{e.key(): e.object})
		if was.Next != nil && is.Next != nil && was.Count == is.Count && was.Next.Count == is.Next.Count && !was.Next.From.Equal(is.Next.From) {
			found = append(found, fmt.Sprintf("version %d: %+v became %+v", e.version(), was.Next, is.Next))
		}
		was = cmp.Or(is, was)
	}
	return found
}

// statusViolations checks rules for the status: Ready must not be reported too early, and observedGeneration must not decrease.
func statusViolations(entries []entry) (found []string) {
	var before *cachev1alpha1.Memcached
	now, completed := objects{}, false // completed: the objects have been as the present generation wants them at least once
	for _, e := range entries {
		now.add(e) // a deleted workload does not reset completed, because the operator may learn of it late
		mc, ok := e.object.(*cachev1alpha1.Memcached)
		if !ok {
			completed = completed || before != nil && unfinished(before, now) == ""
			continue
		}
		if before == nil || before.UID != mc.UID {
			before = &cachev1alpha1.Memcached{Status: cachev1alpha1.MemcachedStatus{ObservedGeneration: -1}}
		}
		completed = before.Generation == mc.Generation && completed || unfinished(mc, now) == ""
		observed, observedBefore := mc.Status.ObservedGeneration, before.Status.ObservedGeneration
		if observed > mc.Generation || observed < observedBefore {
			found = append(found, fmt.Sprintf("version %d: observedGeneration is %d, generation %d", e.version(), observed, mc.Generation))
		}
		wasReady := observed == observedBefore && meta.IsStatusConditionTrue(before.Status.Conditions, cachev1alpha1.ConditionReady)
		isReady := meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		if isReady && !wasReady && observed == mc.Generation && !completed {
			found = append(found, fmt.Sprintf("version %d: Ready is True, but generation %d was never complete", e.version(), mc.Generation))
		}
		before = mc
	}
	return found
}
