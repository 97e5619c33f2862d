// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
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

// failOver ends the leader in two ways while a user changes Memcacheds, and measures the time until a standby with warm caches
// writes. The leader is the only operator that runs; the Memcacheds from first to n are Ready.
func (b *bench) failOver(ctx context.Context, t *testbed, leader *replica, first, n int) error {
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"SIGTERM to the leader until its successor writes", syscall.SIGTERM, afterTermination},
		{"SIGKILL to the leader until its successor writes", syscall.SIGKILL, afterKill},
	} {
		standby, err := t.startOperator(ctx)
		if err != nil {
			return err
		}
		took, err := t.succeed(ctx, leader, standby, end.signal, first, n)
		if err != nil {
			return fmt.Errorf("%s: %w", end.name, err)
		}
		b.logf("%s: %.2f s", end.name, took.Seconds())
		b.report.hold(failover, end.name, "s", took.Seconds(), threshold{end.limit.Seconds(), false})
		leader = standby
	}
	return nil
}

// succeed ends the leader and returns the time until the standby's first write reaches the API server.
func (t *testbed) succeed(
	ctx context.Context, leader, standby *replica, signal syscall.Signal, first, n int,
) (time.Duration, error) {
	if _, err := t.waitUntilQuiet(ctx, 0, leader.user, standby.user); err != nil {
		return 0, err
	}
	since, err := t.log.mark()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := leader.signal(signal); err != nil {
		return 0, err
	}
	// Each change has a size that no Memcached has yet.
	for i := 0; ; i++ {
		if err := t.resize(ctx, first+i%(n-first), int32(4+len(t.operators)+i/(n-first))); err != nil { //nolint:gosec // small
			return 0, err
		}
		requests, err := t.log.since(since, standby.user)
		if err != nil {
			return 0, err
		}
		for _, one := range requests {
			if one.isWrite() {
				<-leader.Done()
				return one.received.Sub(began), nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-standby.Done():
			return 0, standby.Err()
		case <-time.After(editInterval):
		}
	}
}
