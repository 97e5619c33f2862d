// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// slowAfter is for how long a reconciliation that waits for an answer occupies a worker. Those that need no webhook take a
	// tenth of it, unless the API server is busy.
	slowAfter = 500 * time.Millisecond
	// goroutinesPerWorker is how many reconciliations may be under way for each worker, most of them waiting.
	goroutinesPerWorker = 4
	// slowRetry is when a slow one tries again if as many slow ones as may be are under way.
	slowRetry = time.Second
	// failedPriority is that of what failed: new work comes first.
	failedPriority = -10
)

// fairQueue hands out no more requests than there are workers. A Memcached whose webhooks do not answer would keep a worker for
// many seconds, and a few of them all workers. So a request that takes longer than slowAfter occupies no worker any more, and the
// next time it is one of a limited number of slow ones, from the beginning.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	clock         clock.WithDelayedExecution
	workers, slow chan struct{}

	mutex sync.Mutex
	// underWay are the requests that were handed out. wasSlow are those that were slow the last time.
	underWay map[reconcile.Request]*turn
	wasSlow  map[reconcile.Request]bool
}

// turn is a request that was handed out.
type turn struct {
	// leave gives back what it occupies. It may be called more than once.
	leave func()
	began time.Time
	timer clock.Timer
}

func newFairQueue(
	queue priorityqueue.PriorityQueue[reconcile.Request], clock clock.WithDelayedExecution, workers int,
) *fairQueue {
	return &fairQueue{
		PriorityQueue: queue,
		clock:         clock,
		workers:       make(chan struct{}, workers),
		slow:          make(chan struct{}, workers*goroutinesPerWorker/2),
		underWay:      map[reconcile.Request]*turn{},
		wasSlow:       map[reconcile.Request]bool{},
	}
}

// Get implements workqueue.TypedInterface.
func (f *fairQueue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = f.GetWithPriority()
	return request, shutdown
}

// GetWithPriority implements priorityqueue.PriorityQueue. It waits for a worker first, so that the order is that of the queue.
func (f *fairQueue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	f.workers <- struct{}{}
	for {
		request, priority, shutdown = f.PriorityQueue.GetWithPriority()
		if shutdown {
			<-f.workers
			return request, priority, shutdown
		}
		if f.begin(request) {
			return request, priority, shutdown
		}
		f.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: slowRetry, Priority: ptr.To(priority)}, request)
		f.PriorityQueue.Done(request)
	}
}

// begin reports whether a request can be handed out, and remembers what it occupies.
func (f *fairQueue) begin(request reconcile.Request) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	occupied := f.workers
	if f.wasSlow[request] {
		select {
		case f.slow <- struct{}{}:
			<-f.workers
			occupied = f.slow
		default:
			return false
		}
	}
	t := &turn{leave: sync.OnceFunc(func() { <-occupied }), began: f.clock.Now()}
	if occupied == f.workers {
		t.timer = f.clock.AfterFunc(slowAfter, t.leave)
	}
	f.underWay[request] = t
	return true
}

// Done implements workqueue.TypedInterface.
func (f *fairQueue) Done(request reconcile.Request) {
	f.mutex.Lock()
	t := f.underWay[request]
	delete(f.underWay, request)
	if f.clock.Since(t.began) >= slowAfter {
		f.wasSlow[request] = true
	} else {
		delete(f.wasSlow, request)
	}
	f.mutex.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.leave()
	f.PriorityQueue.Done(request)
}

// AddWithOpts implements priorityqueue.PriorityQueue. What is limited in its rate has failed.
func (f *fairQueue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	if opts.RateLimited {
		opts.Priority = ptr.To(min(ptr.Deref(opts.Priority, 0), failedPriority))
	}
	f.PriorityQueue.AddWithOpts(opts, requests...)
}

// newQueue returns the queue of a controller with so many workers.
func newQueue(workers int) func(string, workqueue.TypedRateLimiter[reconcile.Request]) queue {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
		queue := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
			o.Log = log.Log.WithName("queue")
			o.RateLimiter = limiter
		})
		return newFairQueue(queue, clock.RealClock{}, workers)
	}
}
