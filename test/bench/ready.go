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

// Thresholds of how much later than its bare children would be available a Memcached is Ready.
const (
	laterMostly = 150 * time.Millisecond
	laterAtMost = 500 * time.Millisecond
)

// becomeReady measures how long Memcacheds take to be Ready that are created one each half second, so that nothing is
// saturated, and how long bare children take to be available that are created at the same pace without an operator: half of
// them before and half after, since a cluster becomes slower the more there is in it.
func (b *bench) becomeReady(ctx context.Context, r *rig) error {
	n := b.options.paced
	if err := r.createNamespaces(ctx, 2*n, true); err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	available, err := r.tally(following, &appsv1.DeploymentList{}, isAvailable)
	if err != nil {
		return err
	}
	ready, err := r.tally(following, memcachedList(), isReady)
	if err != nil {
		return err
	}
	bare := newStopwatch()
	if err := b.createBare(ctx, r, bare, n, n+n/2); err != nil {
		return err
	}
	if _, err := available.reach(ctx, n/2); err != nil {
		return fmt.Errorf("waiting for Deployments to be available: %w", err)
	}
	o, err := r.startOperator(ctx)
	if err != nil {
		return err
	}
	ours := newStopwatch()
	err = onSchedule(ctx, evenly(n, pace), func(i int) error { return ours.create(ctx, r.k8s, memcachedNumber(i)) })
	if err != nil {
		return err
	}
	if _, err := ready.reach(ctx, n); err != nil {
		return fmt.Errorf("waiting for Memcacheds to be ready: %w", err)
	}
	if err := o.stop(); err != nil {
		return err
	}
	if err := b.createBare(ctx, r, bare, n+n/2, 2*n); err != nil {
		return err
	}
	if _, err := available.reach(ctx, 2*n); err != nil {
		return fmt.Errorf("waiting for Deployments to be available: %w", err)
	}
	b.addReadiness(between(ours.began, ready.firsts()), between(ours.began, available.firsts()), between(bare.began, available.firsts()))
	return nil
}

// createBare creates the children of the Memcacheds from first to before end, one set each half second.
func (*bench) createBare(ctx context.Context, r *rig, began *stopwatch, first, end int) error {
	children, err := childrenOf(end)
	if err != nil {
		return err
	}
	return onSchedule(ctx, evenly(end-first, pace), func(i int) error {
		return began.create(ctx, r.k8s, children[first+i]...)
	})
}

// addReadiness adds to the report how long Memcacheds took to be Ready, their Deployments to be available, and those of the
// bare children.
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
		b.report.add(readiness, "two resources a second, each until it is Ready"+name, "ms", milliseconds(ours))
		b.report.add(readiness, "their Deployments until they are available"+name, "ms", milliseconds(percentile(available, p.percent)))
		b.report.add(readiness, "bare children at the same pace until they are available"+name, "ms", milliseconds(alone))
		b.report.hold(readiness, "Ready later than bare children are available"+name, "ms", milliseconds(ours-alone),
			threshold{milliseconds(p.limit), false})
	}
}

// stopwatch knows when what is measured has begun.
type stopwatch struct {
	mutex sync.Mutex
	began map[types.NamespacedName]time.Time
}

func newStopwatch() *stopwatch { return &stopwatch{began: map[types.NamespacedName]time.Time{}} }

// create creates objects of one name at once. What is measured begins before the requests are sent.
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
