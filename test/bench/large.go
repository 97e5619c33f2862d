// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// mostResident limits the operator's memory, in MiB, after a restart with the number of Memcacheds in the flag -large.
const mostResident = 480

// restarts is how many restarts are measured for M6, the reaction to a change. The result is the median, because reactions vary.
const restarts = 3

// large is the part of M3, M6 and M7 that depends on the number of existing Memcacheds. It measures the requests of a restart and of a
// resync, the reaction to a change, and the memory.
func (b *bench) large(ctx context.Context, t *testbed, n int) {
	b.loadLarge(ctx, t, n)
	o := b.restartLarge(ctx, t, n)
	if b.selected(reaction) {
		b.reactIdle(ctx, t, o)
	}
	check(o.stop())
	if b.selected(restart) {
		b.resync(ctx, t, n)
	}
	if b.selected(reaction) {
		for i := range restarts {
			b.reactRestarting(ctx, t, size+int32(i%2)) // a size that differs from the previous one
		}
		b.reactRaw(ctx, t)
	}
}

// loadLarge creates n Memcacheds, waits until they are Ready, measures the operator's peak memory, and stops the operator.
func (b *bench) loadLarge(ctx context.Context, t *testbed, n int) {
	o, ready := t.startOperatorFor(ctx, n)
	defer ready.stop()
	_, took := t.createReady(ctx, ready, n)
	b.logf("%d Memcacheds are ready after %.0f s", n, took.Seconds())
	t.waitUntilQuiet(ctx, 0, o.user)
	if b.selected(footprint) {
		b.report.add(footprint, fmt.Sprintf("peak memory while %d resources and their %d pods are created", n, n*size), "MiB",
			must(usageOf(o.Pid())).peak)
	}
	check(o.stop())
}

// restartLarge starts the operator with n Memcacheds that are Ready, and measures its requests, its memory and its CPU time.
func (b *bench) restartLarge(ctx context.Context, t *testbed, n int) *replica {
	o, requests := t.restartOperator(ctx, n, b.options.idle)
	if inLog, sent := patches(requests), must(o.metrics.read(ctx)).sentWrites(); float64(inLog) != sent {
		check(fmt.Errorf("the audit log has %d writes, the operator counted %g", inLog, sent))
	}
	if b.selected(restart) {
		b.holdNothing(requests, fmt.Sprintf("restart with %d resources, then %s idle", n, b.options.idle))
		b.plain[restarted] = costOfStart(requests, n)
	}
	if b.selected(footprint) {
		u := must(usageOf(o.Pid()))
		name := fmt.Sprintf("memory after a restart with %d resources and their %d pods", n, n*size)
		b.report.hold(footprint, name, "MiB", u.resident, threshold{mostResident, false})
		b.report.addDetail(footprint, "peak "+name, "MiB", u.peak)
		b.report.add(footprint, fmt.Sprintf("CPU of a restart with %d resources", n), "s", u.cpu.Seconds())
	}
	return o
}

// restartOperator starts the operator with n existing Memcacheds. It waits until the operator has reconciled all of them, then for the
// duration in idle, and then until the operator writes nothing. It returns the operator's requests since the start.
func (t *testbed) restartOperator(ctx context.Context, n int, idle time.Duration) (*replica, []request) {
	since := must(t.log.mark())
	o := t.startOperator(ctx)
	o.awaitReconciles(ctx, n)
	check(pause(ctx, idle))
	return o, t.waitUntilQuiet(ctx, since, o.user)
}

// holdNothing reports the requests of a phase in which the operator must send no write and no GET.
func (b *bench) holdNothing(requests []request, name string) {
	c := count(requests)
	b.report.Phases = append(b.report.Phases, phase{Metric: restart, Name: name, Counts: c, NoOps: -1})
	b.report.holdCount(restart, "writes: "+name, "writes", c[accepted]+c[rejected], 0)
	b.report.holdCount(restart, "GETs: "+name, "GETs", c[get], 0)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
