// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// resyncRate is how many Memcacheds a second the controller reconciles without a cause: those that exist when the process starts,
// and those of a resync. One takes some two milliseconds of CPU, which others may need that somebody waits for, as may the
// API server.
const resyncRate = 200

// For so long after its start, the process reconciles fewer of them a second: others have the machine nearly for themselves.
const (
	startupRate   = 20
	startupPeriod = 3 * time.Second
)

// memcacheds wakes the controller. Those that exist when the process starts, and those of a resync, are paced and come after
// everything else, unless somebody waits.
func (r *Reconciler) memcacheds() handler.TypedFuncs[client.Object, reconcile.Request] {
	funcs := watch(r, memcachedChange)
	created, updated := funcs.CreateFunc, funcs.UpdateFunc
	resyncs, startups := rate.NewLimiter(resyncRate, 1), rate.NewLimiter(startupRate, 1)
	enqueuePaced := func(mc client.Object, q queue, startup bool) {
		now := r.clock.Now()
		delay := resyncs.ReserveN(now, 1).DelayFrom(now)
		if startup {
			delay = min(startups.ReserveN(now, 1).DelayFrom(now), startupPeriod+delay)
		}
		enqueue(q, client.ObjectKeyFromObject(mc), delay)
	}
	funcs.CreateFunc = func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
		prioritized, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
		switch {
		case !e.IsInInitialList:
			created(ctx, e, q)
		case !needsPrompt(e.Object):
			enqueuePaced(e.Object, q, true)
		case ok:
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
			prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(0)}, request)
		default:
			enqueue(q, client.ObjectKeyFromObject(e.Object), 0)
		}
	}
	funcs.UpdateFunc = func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
		if isResync(e) {
			enqueuePaced(e.ObjectNew, q, false)
			return
		}
		updated(ctx, e, q)
	}
	return funcs
}

// needsPrompt reports whether somebody waits for the operator: what the user wants has changed since the status was written, or
// the Memcached is not Ready.
func needsPrompt(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok {
		return true
	}
	conditions := mc.Status.Conditions
	return mc.Generation != mc.Status.ObservedGeneration ||
		!meta.IsStatusConditionTrue(conditions, cachev1alpha1.ConditionReady)
}
