// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Thresholds of the time until a standby writes.
const (
	afterTermination = 3 * time.Second
	// afterKill is the duration of the lease and 4.4 times the retry period, rounded up.
	afterKill = 20 * time.Second
)

// editInterval is the time between two changes of a user who waits for the successor.
const editInterval = 50 * time.Millisecond

// failOver ends the leader in two ways while a user changes Memcacheds, and measures the time until a standby with warm
// caches writes. Leader is the only operator that runs; the Memcacheds from first to n are ready.
func (b *bench) failOver(ctx context.Context, r *rig, leader *operator, first, n int) error {
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"SIGTERM to the leader until its successor writes", syscall.SIGTERM, afterTermination},
		{"SIGKILL to the leader until its successor writes", syscall.SIGKILL, afterKill},
	} {
		standby, err := r.startOperator(ctx)
		if err != nil {
			return err
		}
		took, err := r.succeed(ctx, leader, standby, end.signal, first, n)
		if err != nil {
			return fmt.Errorf("%s: %w", end.name, err)
		}
		b.say("%s: %.2f s", end.name, took.Seconds())
		b.report.hold(failover, end.name, "s", took.Seconds(), threshold{end.limit.Seconds(), false})
		leader = standby
	}
	return nil
}

// succeed ends the leader and returns the time until the standby's first write reaches the API server.
func (r *rig) succeed(
	ctx context.Context, leader, standby *operator, signal syscall.Signal, first, n int,
) (time.Duration, error) {
	if _, err := r.silent(ctx, 0, leader.user, standby.user); err != nil {
		return 0, err
	}
	since, err := r.log.mark()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := leader.signal(signal); err != nil {
		return 0, err
	}
	// A size that none of them has, different each time.
	for i := 0; ; i++ {
		if err := r.resize(ctx, first+i%(n-first), int32(4+len(r.operators)+i/(n-first))); err != nil { //nolint:gosec // small
			return 0, err
		}
		requests, err := r.log.since(since, standby.user)
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
