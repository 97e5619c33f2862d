// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func requestOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// twoWorkers returns a queue for two workers, which lets four be slow, and a function that starts to wait for its next request.
func twoWorkers(t *testing.T) (*fairQueue, *clocktesting.FakeClock, func() <-chan string) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	q := newFairQueue(priorityqueue.New[reconcile.Request](""), clock, 2)
	t.Cleanup(q.ShutDown)
	return q, clock, func() <-chan string {
		next := make(chan string, 1)
		go func() {
			if request, shutdown := q.Get(); !shutdown {
				next <- request.Name
			}
		}()
		return next
	}
}

func TestThoseThatWaitForAWebhookDelayNobody(t *testing.T) {
	q, clock, get := twoWorkers(t)
	for _, name := range []string{"hangs-1", "hangs-2"} {
		q.Add(requestOf(name))
		<-get()
	}
	q.Add(requestOf("healthy"))
	next := get()
	select {
	case name := <-next:
		t.Fatalf("%s is handed out although no worker is free", name)
	default:
	}
	clock.Step(slowAfter)
	if name := <-next; name != "healthy" {
		t.Fatalf("%s comes next", name)
	}
	for _, name := range []string{"hangs-1", "healthy", "hangs-2"} {
		q.Done(requestOf(name))
	}
	if len(q.workers) != 0 || len(q.underWay) != 0 {
		t.Errorf("%d workers are occupied by %v", len(q.workers), q.underWay)
	}
}

func TestThoseThatWereSlowAreLimitedAndOccupyNoWorker(t *testing.T) {
	q, clock, get := twoWorkers(t)
	slow := []string{"slow-1", "slow-2", "slow-3", "slow-4", "slow-5"}
	for _, name := range slow {
		q.Add(requestOf(name))
		<-get()
		clock.Step(slowAfter)
		q.Done(requestOf(name))
	}
	for _, name := range slow[:4] {
		q.Add(requestOf(name))
		if next := <-get(); next != name {
			t.Fatalf("%s comes next", next)
		}
	}
	if len(q.workers) != 0 {
		t.Errorf("%d workers are occupied", len(q.workers))
	}
	putBack := &recordingQueue{PriorityQueue: q.PriorityQueue}
	q.PriorityQueue = putBack
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(finishedPriority)}, requestOf("slow-5"))
	next := get()
	q.Add(requestOf("healthy"))
	if name := <-next; name != "healthy" {
		t.Fatalf("%s comes next, and four that are slow are under way", name)
	}
	if again := putBack.added[len(putBack.added)-1]; *again.Priority != finishedPriority || again.After != slowRetry {
		t.Errorf("the fifth comes back with priority %d after %s", *again.Priority, again.After)
	}
	for _, name := range append(slow[:4:4], "healthy") {
		q.Done(requestOf(name))
	}
	if q.wasSlow[requestOf("slow-1")] || !q.wasSlow[requestOf("slow-5")] {
		t.Errorf("taken for slow: %v", q.wasSlow)
	}
	if len(q.workers) != 0 || len(q.slow) != 0 {
		t.Errorf("%d workers and %d of the slow are occupied", len(q.workers), len(q.slow))
	}
}

// recordingQueue records with which options requests are added.
type recordingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	added []priorityqueue.AddOpts
}

func (r *recordingQueue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	r.added = append(r.added, opts)
	r.PriorityQueue.AddWithOpts(opts, requests...)
}

func TestTheOrderIsThatOfTheQueueHoweverManyWait(t *testing.T) {
	q, _, get := twoWorkers(t)
	waiting := []<-chan string{get(), get()}
	q.Add(requestOf("first"))
	q.Add(requestOf("second"))
	for _, next := range waiting {
		<-next
	}
	third, fourth := get(), get() // without a worker
	q.Add(requestOf("late"))
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(finishedPriority)}, requestOf("finished"))
	q.Done(requestOf("first"))
	select {
	case name := <-third:
		if name != "finished" {
			t.Errorf("%s comes next", name)
		}
	case name := <-fourth:
		if name != "finished" {
			t.Errorf("%s comes next", name)
		}
	}
}

func TestWhatFailedComesAfterNewWork(t *testing.T) {
	q, _, _ := twoWorkers(t)
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, requestOf("failed"))
	if _, priority, _ := q.GetWithPriority(); priority >= 0 {
		t.Errorf("it comes back with priority %d", priority)
	}
}

func TestAQueueThatIsShutDownLetsEverybodyGo(t *testing.T) {
	q := newFairQueue(priorityqueue.New[reconcile.Request](""), clocktesting.NewFakeClock(time.Now()), 2)
	gone := make(chan bool)
	for range 5 {
		go func() {
			_, shutdown := q.Get()
			gone <- shutdown
		}()
	}
	q.ShutDown()
	for range 5 {
		if !<-gone {
			t.Error("it got a request")
		}
	}
}
