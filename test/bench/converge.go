// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// quietPeriod is how long the operator must have written nothing before it counts as idle. It reacts half a second after an
// event, and 30 s after a create that its cache has not confirmed.
const quietPeriod = 3 * time.Second

// Limits of the writes until a Memcached is Ready: one for each child, and these for its status.
const (
	meanStatuses = 2.2
	mostStatuses = 4
)

// converge measures how n Memcacheds become Ready, in writes and in seconds.
func (b *bench) converge(ctx context.Context, t *testbed, n int) (*replica, error) {
	o, ready, err := t.startOperatorFor(ctx, n)
	if err != nil {
		return nil, err
	}
	defer ready.stop()
	available, err := t.countObjects(ctx, &appsv1.DeploymentList{}, isAvailable)
	if err != nil {
		return nil, err
	}
	defer available.stop()
	before, err := t.beginPhase(ctx, o)
	if err != nil {
		return nil, err
	}
	defer before.versions.stop()
	began, took, err := t.createReady(ctx, ready, n)
	if err != nil {
		return nil, err
	}
	b.burst.operator = took
	b.logf("%d Memcacheds are ready after %.1f s", n, took.Seconds())
	requests, err := b.endPhase(ctx, before, converge, fmt.Sprintf("%d resources from creation to Ready", n))
	if err != nil {
		return nil, err
	}
	b.holdWrites(requests, n)
	if b.selected(endToEnd) {
		b.addMedians(n, began, ready, available)
		if b.burst.creations, err = creationsIn(requests, o.user, began, n); err != nil {
			return nil, err
		}
	}
	u, err := usageOf(o.Pid())
	if err != nil {
		return nil, err
	}
	cpu := (u.cpu - before.usage.cpu).Seconds() * 1000 / float64(n)
	b.report.add(footprint, "CPU for 1,000 resources from creation to Ready", "s", cpu)
	return o, nil
}

func (b *bench) holdWrites(requests []request, n int) {
	k := len(childKinds)
	children, statuses := writesPerObject(requests)
	progress := progressWrites(requests)
	total, needed, most := 0, 0, 0
	for name := range statuses {
		writes := children[name] + statuses[name]
		total += writes
		needed, most = needed+writes-progress[name], max(most, writes-progress[name])
	}
	b.report.add(converge, "writes per resource, mean", "writes", float64(total)/float64(n))
	const name = "writes per resource beside progress after five seconds, "
	b.report.hold(converge, name+"mean", "writes", float64(needed)/float64(n), threshold{float64(k) + meanStatuses, true})
	b.report.holdCount(converge, name+"most", "writes", most, k+mostStatuses)
}
