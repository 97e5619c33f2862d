// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"syscall"
	"time"
)

// Limits of the time until a standby writes.
const (
	afterTermination = 3 * time.Second
	// afterKill is the lease duration plus 4.4 retry periods, rounded up.
	afterKill = 20 * time.Second
)

// editInterval is the time between two changes by a user who waits for the new leader.
const editInterval = 50 * time.Millisecond

// failOver ends the leader in two ways while a user changes Memcacheds. It measures the time until a standby with warm caches writes. At
// first, only the leader runs, and the Memcacheds from first to n are Ready.
func (b *bench) failOver(ctx context.Context, t *testbed, leader *replica, first, n int) {
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"SIGTERM to the leader until its successor writes", syscall.SIGTERM, afterTermination},
		{"SIGKILL to the leader until its successor writes", syscall.SIGKILL, afterKill},
	} {
		during(end.name, func() {
			standby := t.startOperator(ctx)
			took := t.succeed(ctx, leader, standby, end.signal, first, n)
			b.logf("%s: %.2f s", end.name, took.Seconds())
			b.report.hold(failover, end.name, "s", took.Seconds(), threshold{end.limit.Seconds(), false})
			leader = standby
		})
	}
}

// succeed ends the leader and returns the time until the standby's first write reaches the API server.
func (t *testbed) succeed(ctx context.Context, leader, standby *replica, signal syscall.Signal, first, n int) time.Duration {
	t.waitUntilQuiet(ctx, 0, leader.user, standby.user)
	since := must(t.log.mark())
	began := time.Now()
	check(leader.signal(signal))
	// Each change has a size that no Memcached has yet.
	for i := 0; ; i++ {
		check(t.resize(ctx, first+i%(n-first), int32(4+len(t.operators)+i/(n-first)))) //nolint:gosec // small
		for _, one := range must(t.log.since(since, standby.user)) {
			if one.isWrite() {
				<-leader.Done()
				return one.received.Sub(began)
			}
		}
		select {
		case <-ctx.Done():
			check(context.Cause(ctx))
		case <-standby.Done():
			check(standby.Err())
		case <-time.After(editInterval):
		}
	}
}
