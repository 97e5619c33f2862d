// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// silence is for how long the operator must have written nothing to be done. It looks half a second after an event, and
// 30 s after a creation that its cache has not confirmed.
const silence = 3 * time.Second

// Thresholds of the writes until a Memcached is ready: one for each child, and these for its status.
const (
	meanStatuses = 2.2
	mostStatuses = 4
)

// converging measures how n Memcacheds become Ready, in writes and in seconds.
func (b *bench) converging(ctx context.Context, r *rig, n int) (*operator, error) {
	if err := r.createNamespaces(ctx, n, true); err != nil {
		return nil, err
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, err := r.tally(following, memcachedList(), isReady)
	if err != nil {
		return nil, err
	}
	available, err := r.tally(following, &appsv1.DeploymentList{}, isAvailable)
	if err != nil {
		return nil, err
	}
	o, err := r.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	return o, b.converge(ctx, r, o, ready, available, n)
}

func (b *bench) converge(ctx context.Context, r *rig, o *operator, ready, available *tally, n int) error {
	before, err := r.watchPhase(ctx, o)
	if err != nil {
		return err
	}
	defer before.end()
	began, err := r.createMemcacheds(ctx, n)
	if err != nil {
		return err
	}
	done, err := ready.reach(ctx, n)
	if err != nil {
		return fmt.Errorf("waiting for Memcacheds to be ready: %w", err)
	}
	b.burst.operator = done.Sub(began)
	b.say("%d Memcacheds are ready after %.1f s", n, b.burst.operator.Seconds())
	requests, err := b.endPhase(ctx, before, converge, fmt.Sprintf("%d resources from creation to Ready", n))
	if err != nil {
		return err
	}
	b.holdWrites(requests, n)
	if b.wants(endToEnd) {
		b.addMedians(n, began, ready, available)
		if b.burst.creations, err = creationsIn(requests, o.user, began, n); err != nil {
			return err
		}
	}
	u, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	b.report.add(footprint, "CPU for 1,000 resources from creation to Ready", "s", (u.cpu-before.usage.cpu).Seconds()*1000/float64(n))
	return nil
}

// holdWrites adds the writes for each Memcached to the report.
func (b *bench) holdWrites(requests []request, n int) {
	k := float64(len(childKinds))
	children, statuses := writesPerObject(requests)
	progress := progressWrites(requests)
	total, needed, most := 0, 0, 0
	for name := range statuses {
		writes := children[name] + statuses[name]
		total += writes
		needed, most = needed+writes-progress[name], max(most, writes-progress[name])
	}
	b.report.add(converge, "writes per resource, mean", "writes", float64(total)/float64(n))
	b.report.hold(converge, "writes per resource beside progress after five seconds, mean", "writes", float64(needed)/float64(n),
		threshold{k + meanStatuses, true})
	b.report.hold(converge, "writes per resource beside progress after five seconds, most", "writes", float64(most), threshold{k + mostStatuses, true})
}
