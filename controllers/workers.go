// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// slowAfter is for how long a reconciliation that waits for an answer keeps its place. Those that need no webhook take a
	// tenth of it, unless the API server is busy.
	slowAfter = 500 * time.Millisecond
	// goroutinesPerWorker is how many reconciliations may be under way for each of the places, most of them waiting.
	goroutinesPerWorker = 4
	// slowRetry is when one that was slow tries again if there is no room for it.
	slowRetry = time.Second
	// failedPriority is that of what failed: new work comes first.
	failedPriority = -10
)

// workers are the places of those who reconcile. A Memcached whose webhooks do not answer would keep a place for many seconds, and a
// few of them all places. So whoever waits for longer than that gives its place to another, and the next time it takes one of a
// limited number of places for the slow.
type workers struct {
	reconcile.Reconciler

	clock        clock.WithDelayedExecution
	places, slow chan struct{}
	// wasSlow holds the requests that took longer than slowAfter the last time.
	wasSlow sync.Map
}

func newWorkers(r reconcile.Reconciler, clock clock.WithDelayedExecution, count int) *workers {
	return &workers{
		Reconciler: r, clock: clock,
		places: make(chan struct{}, count),
		slow:   make(chan struct{}, count*goroutinesPerWorker/2),
	}
}

// Reconcile implements reconcile.Reconciler.
func (w *workers) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	places := w.places
	if _, slow := w.wasSlow.Load(request); slow {
		select {
		case w.slow <- struct{}{}:
			places = w.slow
		default:
			return reconcile.Result{RequeueAfter: slowRetry, Priority: ptr.To(failedPriority)}, nil
		}
	} else {
		select {
		case w.places <- struct{}{}:
		case <-ctx.Done():
			return reconcile.Result{}, ctx.Err()
		}
	}
	result, err := w.reconcile(ctx, request, places)
	if err != nil {
		result.Priority = ptr.To(failedPriority)
	}
	return result, err
}

// reconcile has a place, and leaves it when it is done or, unless that is a place for the slow, when it has been slow.
func (w *workers) reconcile(ctx context.Context, request reconcile.Request, places chan struct{}) (reconcile.Result, error) {
	leave := sync.OnceFunc(func() { <-places })
	defer leave()
	began := w.clock.Now()
	timer := w.clock.AfterFunc(slowAfter, func() {
		w.wasSlow.Store(request, nil)
		if places != w.slow {
			leave()
		}
	})
	result, err := w.Reconciler.Reconcile(ctx, request)
	timer.Stop()
	if w.clock.Since(began) < slowAfter {
		w.wasSlow.Delete(request)
	}
	return result, err
}
