// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// mostResident is the largest memory of the operator with as many Memcacheds as the benchmark makes, in MiB.
const mostResident = 400

// large measures what depends on the number of Memcacheds that exist: what a restart and a resync ask for, how fast a change
// is noticed, and how much memory the operator needs.
func (b *bench) large(ctx context.Context, r *rig, n int) error {
	if err := b.loadLarge(ctx, r, n); err != nil {
		return err
	}
	o, err := b.restartLarge(ctx, r, n)
	if err != nil {
		return err
	}
	if b.wants(reaction) {
		if err := b.reactIdle(ctx, r, o); err != nil {
			return err
		}
	}
	if err := o.stop(); err != nil {
		return err
	}
	if b.wants(restart) {
		if err := b.resync(ctx, r, n); err != nil {
			return err
		}
	}
	if b.wants(reaction) {
		return errors.Join(b.reactRestarting(ctx, r), b.reactRaw(ctx, r))
	}
	return nil
}

// loadLarge makes n Memcacheds that are ready, and ends the operator.
func (b *bench) loadLarge(ctx context.Context, r *rig, n int) error {
	if err := r.createNamespaces(ctx, n, true); err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, err := r.tally(following, memcachedList(), isReady)
	if err != nil {
		return err
	}
	o, err := r.startOperator(ctx)
	if err != nil {
		return err
	}
	began, err := r.createMemcacheds(ctx, n)
	if err != nil {
		return err
	}
	done, err := ready.reach(ctx, n)
	if err != nil {
		return fmt.Errorf("waiting for Memcacheds to be ready: %w", err)
	}
	b.say("%d Memcacheds are ready after %.0f s", n, done.Sub(began).Seconds())
	if _, err := r.silent(ctx, 0, o.user); err != nil {
		return err
	}
	if b.wants(footprint) {
		u, err := usageOf(o.Pid())
		if err != nil {
			return err
		}
		b.report.add(footprint, fmt.Sprintf("peak memory while %d resources and their %d pods are created", n, n*size), "MiB", u.peak)
	}
	return o.stop()
}

// restartLarge starts the operator on n Memcacheds that are ready, and counts what it asks for.
func (b *bench) restartLarge(ctx context.Context, r *rig, n int) (*operator, error) {
	since, err := r.log.mark()
	if err != nil {
		return nil, err
	}
	o, err := r.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.awaitReconciles(ctx, n); err != nil {
		return nil, err
	}
	if err := pause(ctx, b.options.idle); err != nil {
		return nil, err
	}
	requests, err := r.silent(ctx, since, o.user)
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
	if b.wants(restart) {
		b.holdNothing(requests, fmt.Sprintf("restart with %d resources, then %s idle", n, b.options.idle))
	}
	if b.wants(footprint) {
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

// holdNothing adds to the report that there must be no writes and no GETs.
func (b *bench) holdNothing(requests []request, name string) {
	c := count(requests)
	nothing := threshold{0, true}
	b.report.Phases = append(b.report.Phases, phase{Metric: restart, Name: name, Counts: c})
	b.report.hold(restart, "writes: "+name, "writes", float64(c[accepted]+c[rejected]), nothing)
	b.report.hold(restart, "GETs: "+name, "GETs", float64(c[get]), nothing)
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
