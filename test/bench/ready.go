// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The limits of how much later Memcacheds become Ready than bare children become available. laterMostly is for the median, and laterAtMost
// for the 99th percentile. Bare children are the objects that the operator creates for a Memcached, but the benchmark creates them without
// a Memcached.
const (
	laterMostly = 150 * time.Millisecond
	laterAtMost = 500 * time.Millisecond
)

// becomeReady measures M9: how long Memcacheds take to become Ready, compared with bare children that become available. It creates
// one Memcached, or one set of bare children, every half second, so the cluster is not saturated. A cluster becomes slower as it fills. So
// becomeReady creates half of the bare children before the Memcacheds, and half after them.
func (b *bench) becomeReady(ctx context.Context, t *testbed) {
	n := b.options.paced
	t.createNamespaces(ctx, 2*n, true)
	available := t.countObjects(ctx, &appsv1.DeploymentList{}, isAvailable)
	defer available.stop()
	ready := t.countObjects(ctx, memcachedList(), isReady)
	defer ready.stop()
	bare := newStopwatch()
	t.createBare(ctx, bare, available, n, n+n/2, n/2)
	o := t.startOperator(ctx)
	ours := newStopwatch()
	check(onSchedule(ctx, evenly(n, pace), func(i int) error { return ours.create(ctx, t.k8s, memcachedNumber(i)) }))
	during("waiting for Memcacheds to be ready", func() { ready.waitFor(ctx, n) })
	check(o.stop())
	t.createBare(ctx, bare, available, n+n/2, 2*n, 2*n)
	deployments := available.firstMatches()
	b.addReadiness(between(ours.began, ready.firstMatches()), between(ours.began, deployments), between(bare.began, deployments))
}

// createBare creates the children of the Memcacheds with the numbers from first to end-1, one set every half second. It waits until
// all Deployments are available: those that it creates and those that existed before. Their total number is the argument all.
func (t *testbed) createBare(ctx context.Context, began *stopwatch, available *counter, first, end, all int) {
	children := must(childrenOf(end))
	check(onSchedule(ctx, evenly(end-first, pace), func(i int) error {
		return began.create(ctx, t.k8s, children[first+i]...)
	}))
	during("waiting for Deployments to be available", func() { available.waitFor(ctx, all) })
}

// addReadiness reports how long Memcacheds took to become Ready, and how long their Deployments and bare Deployments took to become
// available.
func (b *bench) addReadiness(ready, available, bare []time.Duration) {
	for _, p := range []struct {
		percent float64
		limit   time.Duration
	}{
		{50, laterMostly},
		{99, laterAtMost},
	} {
		ours, alone := percentile(ready, p.percent), percentile(bare, p.percent)
		name := fmt.Sprintf(", p%g", p.percent)
		b.report.addDetail(readiness, "two resources a second, each until it is Ready"+name, "ms", milliseconds(ours))
		b.report.addDetail(readiness, "their Deployments until they are available"+name, "ms", milliseconds(percentile(available, p.percent)))
		b.report.addDetail(readiness, "bare children at the same pace until they are available"+name, "ms", milliseconds(alone))
		b.report.hold(readiness, "Ready later than bare children are available"+name, "ms", milliseconds(ours-alone),
			threshold{milliseconds(p.limit), false})
	}
}

// stopwatch records when the creation of each object began.
type stopwatch struct {
	mutex sync.Mutex
	began map[types.NamespacedName]time.Time
}

func newStopwatch() *stopwatch { return &stopwatch{began: map[types.NamespacedName]time.Time{}} }

// create creates objects concurrently, and records when it began. All of these objects have the same name.
func (s *stopwatch) create(ctx context.Context, k8s client.Client, objects ...client.Object) error {
	s.mutex.Lock()
	s.began[client.ObjectKeyFromObject(objects[0])] = time.Now()
	s.mutex.Unlock()
	failures := make([]error, len(objects))
	var group sync.WaitGroup
	for i, object := range objects {
		group.Go(func() { failures[i] = k8s.Create(ctx, object) })
	}
	group.Wait()
	return errors.Join(failures...)
}
