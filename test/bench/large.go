// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// mostResident limits the memory of the operator with as many Memcacheds as the benchmark creates, in MiB.
const mostResident = 400

// large measures what depends on the number of existing Memcacheds: the requests of a restart and of a resync, how fast the
// operator reacts to a change, and how much memory it needs.
func (b *bench) large(ctx context.Context, t *testbed, n int) error {
	if err := b.loadLarge(ctx, t, n); err != nil {
		return err
	}
	o, err := b.restartLarge(ctx, t, n)
	if err != nil {
		return err
	}
	if b.selected(reaction) {
		if err := b.reactIdle(ctx, t, o); err != nil {
			return err
		}
	}
	if err := o.stop(); err != nil {
		return err
	}
	if b.selected(restart) {
		if err := b.resync(ctx, t, n); err != nil {
			return err
		}
	}
	if b.selected(reaction) {
		return errors.Join(b.reactRestarting(ctx, t), b.reactRaw(ctx, t))
	}
	return nil
}

// loadLarge creates n Memcacheds, waits until they are Ready, and stops the operator.
func (b *bench) loadLarge(ctx context.Context, t *testbed, n int) error {
	o, ready, err := t.startOperatorFor(ctx, n)
	if err != nil {
		return err
	}
	defer ready.stop()
	_, took, err := t.createReady(ctx, ready, n)
	if err != nil {
		return err
	}
	b.logf("%d Memcacheds are ready after %.0f s", n, took.Seconds())
	if _, err := t.waitUntilQuiet(ctx, 0, o.user); err != nil {
		return err
	}
	if b.selected(footprint) {
		u, err := usageOf(o.Pid())
		if err != nil {
			return err
		}
		b.report.add(footprint, fmt.Sprintf("peak memory while %d resources and their %d pods are created", n, n*size), "MiB", u.peak)
	}
	return o.stop()
}

// restartLarge starts the operator with n Memcacheds that are Ready, and counts its requests.
func (b *bench) restartLarge(ctx context.Context, t *testbed, n int) (*replica, error) {
	o, requests, err := t.restartOperator(ctx, n, b.options.idle)
	if err != nil {
		return nil, err
	}
	f, err := o.metrics.read(ctx)
	if err != nil {
		return nil, err
	}
	if inLog, sent := patches(requests), f.sentWrites(); float64(inLog) != sent {
		return nil, fmt.Errorf("the audit log has %d writes, the operator counted %g", inLog, sent)
	}
	if b.selected(restart) {
		b.holdNothing(requests, fmt.Sprintf("restart with %d resources, then %s idle", n, b.options.idle))
	}
	if b.selected(footprint) {
		u, err := usageOf(o.Pid())
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("memory after a restart with %d resources and their %d pods", n, n*size)
		b.report.hold(footprint, name, "MiB", u.resident, threshold{mostResident, false})
		b.report.add(footprint, "peak "+name, "MiB", u.peak)
		b.report.add(footprint, fmt.Sprintf("CPU of a restart with %d resources", n), "s", u.cpu.Seconds())
	}
	return o, nil
}

// restartOperator starts the operator with n existing Memcacheds. It returns what the operator requested until it had
// reconciled all of them and had then been idle for some time.
func (t *testbed) restartOperator(ctx context.Context, n int, idle time.Duration) (*replica, []request, error) {
	since, err := t.log.mark()
	if err != nil {
		return nil, nil, err
	}
	o, err := t.startOperator(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(o.awaitReconciles(ctx, n), pause(ctx, idle)); err != nil {
		return nil, nil, err
	}
	requests, err := t.waitUntilQuiet(ctx, since, o.user)
	return o, requests, err
}

// holdNothing reports that no write and no GET is allowed.
func (b *bench) holdNothing(requests []request, name string) {
	c := count(requests)
	b.report.Phases = append(b.report.Phases, phase{Metric: restart, Name: name, Counts: c})
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
