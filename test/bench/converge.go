// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// quietPeriod is how long the operator must write nothing before it counts as idle. The operator usually reacts within half a second
// of an event.
const quietPeriod = 3 * time.Second

// The limits of the status writes until all Memcacheds are Ready: meanStatuses for the mean of all Memcacheds, and mostStatuses for each
// single one. In addition, each child may be written once, and the status once every five seconds.
const (
	meanStatuses = 2.2
	mostStatuses = 4
)

// converge starts an operator and creates n Memcacheds. It measures the writes and the time until the Memcacheds are Ready, and
// returns the operator.
func (b *bench) converge(ctx context.Context, t *testbed, n int) *replica {
	o, ready := t.startOperatorFor(ctx, n)
	defer ready.stop()
	available := t.countObjects(ctx, &appsv1.DeploymentList{}, isAvailable)
	defer available.stop()
	before := t.beginPhase(ctx, o)
	defer before.versions.stop()
	began, took := t.createReady(ctx, ready, n)
	b.burst.operator = took
	b.logf("%d Memcacheds are ready after %.1f s", n, took.Seconds())
	requests := b.endPhase(ctx, before, converge, fmt.Sprintf("%d resources from creation to Ready", n))
	b.holdWrites(requests, n, len(childKinds), "resource")
	b.plain[created] = costOf(requests, n)
	if b.selected(endToEnd) {
		b.addMedians(n, began, ready, available)
	}
	cpu := (must(usageOf(o.Pid())).cpu - before.usage.cpu).Seconds() * 1000 / float64(n)
	b.report.add(footprint, "CPU for 1,000 resources from creation to Ready", "s", cpu)
	return o
}

// holdWrites compares the writes to the children and statuses of n Memcacheds with the limits. Each Memcached has k children. The
// argument resource is what the report calls a Memcached.
func (b *bench) holdWrites(requests []request, n, k int, resource string) {
	children, statuses := writesPerObject(requests)
	progress := progressWrites(requests)
	total, needed, most := 0, 0, 0
	for name := range statuses {
		writes := children[name] + statuses[name]
		total += writes
		needed, most = needed+writes-progress[name], max(most, writes-progress[name])
	}
	b.report.addDetail(converge, "writes per "+resource+", mean", "writes", float64(total)/float64(n))
	name := "writes per " + resource + " beside progress after five seconds, "
	b.report.hold(converge, name+"mean", "writes", float64(needed)/float64(n), threshold{float64(k) + meanStatuses, true})
	b.report.holdCount(converge, name+"most", "writes", most, k+mostStatuses)
}
