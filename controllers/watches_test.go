// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// addedTo is a queue that remembers how it was added to.
type addedTo struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	opts  []priorityqueue.AddOpts
	names []string
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (a *addedTo) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	a.opts = append(a.opts, opts)
	for _, request := range requests {
		a.names = append(a.names, request.Name)
	}
}

// Add implements workqueue.TypedInterface.
func (a *addedTo) Add(request reconcile.Request) { a.AddWithOpts(priorityqueue.AddOpts{}, request) }

func TestThoseThatNobodyWaitsForComeLaterAndOneAfterTheOther(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, mutations: apply.NewMutationCache(clock)}
	unchanged := &cachev1alpha1.Memcached{}
	unchanged.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	changed := unchanged.DeepCopy()
	changed.Generation++
	var queue addedTo
	memcacheds := r.memcacheds()
	for _, mc := range []*cachev1alpha1.Memcached{unchanged, unchanged, changed, unchanged} {
		memcacheds.Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: mc, IsInInitialList: true}, &queue)
	}
	later := ptr.To(handler.LowPriority)
	want := []priorityqueue.AddOpts{
		{Priority: later},
		{Priority: later, After: time.Second / startupRate},
		{Priority: ptr.To(0)},
		{Priority: later, After: 2 * time.Second / startupRate},
	}
	if diff := cmp.Diff(want, queue.opts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThousandsThatNobodyWaitsForComeFasterAfterTheBeginning(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, mutations: apply.NewMutationCache(clock)}
	ready := &cachev1alpha1.Memcached{}
	ready.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	var queue addedTo
	memcacheds := r.memcacheds()
	for range 1000 {
		memcacheds.Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: ready, IsInInitialList: true}, &queue)
	}
	inTheBeginning := 0
	for _, opts := range queue.opts {
		if opts.After < startupPeriod {
			inTheBeginning++
		}
	}
	if want := int(startupPeriod.Seconds() * startupRate); inTheBeginning != want {
		t.Errorf("%d are looked at in the first %s, want %d", inTheBeginning, startupPeriod, want)
	}
	if last, want := queue.opts[999].After, startupPeriod+999*time.Second/resyncRate; last != want {
		t.Errorf("the last of a thousand is looked at after %s, want %s", last, want)
	}
}

// An interrupted watch tells everything again, as a resync does.
func TestResyncsComeOneAfterTheOther(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, mutations: apply.NewMutationCache(clock)}
	mc, deployment := &cachev1alpha1.Memcached{}, &appsv1.Deployment{}
	var queue addedTo
	child, _ := memcached.ChildOf(deployment)
	memcacheds, deployments := r.memcacheds(), watch(r, r.childChange(child))
	for range 3 {
		memcacheds.Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: mc, ObjectNew: mc}, &queue)
		deployments.Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: deployment, ObjectNew: deployment}, &queue)
	}
	later := ptr.To(handler.LowPriority)
	want := []priorityqueue.AddOpts{
		{Priority: later},
		{Priority: later, After: time.Second / resyncRate},
		{Priority: later, After: 2 * time.Second / resyncRate},
	}
	if diff := cmp.Diff(want, queue.opts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestBothMemcachedsOfAnObjectAreReconciled has objects whose instance label names another Memcached than their own name does, and
// then changes.
func TestBothMemcachedsOfAnObjectAreReconciled(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, mutations: apply.NewMutationCache(clock)}
	metadata := func(name, instance string) metav1.ObjectMeta {
		labels := map[string]string{memcached.InstanceLabel: instance}
		return metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: "1", Labels: labels}
	}
	for name, test := range map[string]struct {
		before client.Object
		// later is the label after the change.
		later string
		want  []string
	}{
		"a Service": {
			&corev1.Service{ObjectMeta: metadata("cache-other", "cache")}, "another", []string{"cache-other", "another", "cache"},
		},
		"a Service of the Memcached of its name": {&corev1.Service{ObjectMeta: metadata("cache", "cache")}, "cache", []string{"cache"}},
		"a ConfigMap": {
			&corev1.ConfigMap{ObjectMeta: metadata("other-servers", "cache")}, "another", []string{"other", "another", "cache"},
		},
		"a ConfigMap of the Memcached that its name begins with": {
			&corev1.ConfigMap{ObjectMeta: metadata("cache-servers", "cache")}, "cache", []string{"cache"},
		},
		"a ConfigMap of a name that no Memcached wants": {
			&corev1.ConfigMap{ObjectMeta: metadata("cache", "other")}, "other", []string{"other"},
		},
		"a ConfigMap without the suffix and the label": {&corev1.ConfigMap{ObjectMeta: metadata("cache", "")}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			after, _ := test.before.DeepCopyObject().(client.Object)
			after.SetResourceVersion("2")
			after.SetLabels(map[string]string{memcached.InstanceLabel: test.later, "changed": "yes"})
			child, _ := memcached.ChildOf(test.before)
			var queue addedTo
			update := event.TypedUpdateEvent[client.Object]{ObjectOld: test.before, ObjectNew: after}
			watch(r, r.childChange(child)).Update(t.Context(), update, &queue)
			if !slices.Equal(queue.names, test.want) {
				t.Errorf("%v are reconciled, not %v", queue.names, test.want)
			}
		})
	}
}
