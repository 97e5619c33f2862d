// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
)

// addedTo is a queue that remembers how it was added to.
type addedTo struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	opts []priorityqueue.AddOpts
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (a *addedTo) AddWithOpts(opts priorityqueue.AddOpts, _ ...reconcile.Request) {
	a.opts = append(a.opts, opts)
}

func TestThoseThatNobodyWaitsForComeLaterAndOneAfterTheOther(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, memory: apply.NewMutationCache(clock)}
	unchanged := &cachev1alpha1.Memcached{}
	unchanged.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	changed := unchanged.DeepCopy()
	changed.Generation++
	var queue addedTo
	memcacheds := r.memcacheds()
	for _, mc := range []*cachev1alpha1.Memcached{unchanged, unchanged, changed, unchanged} {
		memcacheds.Create(t.Context(), event.TypedCreateEvent[*cachev1alpha1.Memcached]{Object: mc, IsInInitialList: true}, &queue)
	}
	later := ptr.To(handler.LowPriority)
	want := []priorityqueue.AddOpts{
		{Priority: later},
		{Priority: later, After: time.Second / firstLooksPerSecond},
		{Priority: ptr.To(0)},
		{Priority: later, After: 2 * time.Second / firstLooksPerSecond},
	}
	if diff := cmp.Diff(want, queue.opts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThousandsThatNobodyWaitsForComeFasterAfterTheBeginning(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, memory: apply.NewMutationCache(clock)}
	ready := &cachev1alpha1.Memcached{}
	ready.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	var queue addedTo
	memcacheds := r.memcacheds()
	for range 1000 {
		memcacheds.Create(t.Context(), event.TypedCreateEvent[*cachev1alpha1.Memcached]{Object: ready, IsInInitialList: true}, &queue)
	}
	inTheBeginning := 0
	for _, opts := range queue.opts {
		if opts.After < firstLooks {
			inTheBeginning++
		}
	}
	if want := int(firstLooks.Seconds() * firstLooksPerSecond); inTheBeginning != want {
		t.Errorf("%d are looked at in the first %s, want %d", inTheBeginning, firstLooks, want)
	}
	if last, want := queue.opts[999].After, firstLooks+999*time.Second/looksPerSecond; last != want {
		t.Errorf("the last of a thousand is looked at after %s, want %s", last, want)
	}
}

// An interrupted watch tells everything again, as a resync does.
func TestResyncsComeOneAfterTheOther(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: clock, memory: apply.NewMutationCache(clock)}
	mc, deployment := &cachev1alpha1.Memcached{}, &appsv1.Deployment{}
	var queue addedTo
	memcacheds, deployments := r.memcacheds(), watch(r, deploymentChange)
	for range 3 {
		memcacheds.Update(t.Context(), event.TypedUpdateEvent[*cachev1alpha1.Memcached]{ObjectOld: mc, ObjectNew: mc}, &queue)
		deployments.Update(t.Context(), event.TypedUpdateEvent[*appsv1.Deployment]{ObjectOld: deployment, ObjectNew: deployment}, &queue)
	}
	later := ptr.To(handler.LowPriority)
	want := []priorityqueue.AddOpts{
		{Priority: later},
		{Priority: later, After: time.Second / looksPerSecond},
		{Priority: later, After: 2 * time.Second / looksPerSecond},
	}
	if diff := cmp.Diff(want, queue.opts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
