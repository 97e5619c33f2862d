// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"syscall"
	"time"
)

// The limits of the time from the end of the leader until a standby writes.
const (
	afterTermination = 3 * time.Second
	// afterKill is 15 s, the duration of the lease, plus two pauses of 2.2 s, rounded up. The standby pauses for at most 2.2 s between two
	// attempts to acquire the lease. One pause may pass before it sees the leader's last renewal, and one after the lease has expired.
	afterKill = 20 * time.Second
)

// editInterval is the time between two changes of Memcacheds while the standby takes over.
const editInterval = 50 * time.Millisecond

// failOver ends the leader by SIGTERM, and the next leader by SIGKILL. It measures the time until a standby with synced caches writes.
// Meanwhile, a user changes the Memcacheds with the numbers from first to n-1. At first, all of these Memcacheds are Ready, and the
// leader is the only operator.
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
			took := t.measureTakeover(ctx, leader, standby, end.signal, first, n)
			b.logf("%s: %.2f s", end.name, took.Seconds())
			b.report.hold(failover, end.name, "s", took.Seconds(), threshold{end.limit.Seconds(), false})
			leader = standby
		})
	}
}

// measureTakeover ends the leader, and returns the time until the API server receives the first write of the standby. Meanwhile, it
// resizes the Memcacheds with the numbers from first to n-1, so that the standby must write.
func (t *testbed) measureTakeover(ctx context.Context, leader, standby *replica, signal syscall.Signal, first, n int) time.Duration {
	t.waitUntilQuiet(ctx, 0, leader.user, standby.user)
	since := must(t.log.mark())
	began := time.Now()
	check(leader.signal(signal))
	// Each change sets a size that the Memcached has not had, provided that the first takeover needs only one pass over the Memcacheds.
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
