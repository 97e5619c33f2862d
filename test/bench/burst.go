// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bareRatio is how much longer it may take until everything is ready than if the same children had been created at the same
// times without an operator.
const bareRatio = 1.15

// burst is a round of M5: how long it takes until all Memcacheds are ready that are created at once, or the children that
// they would have are available.
type burst struct {
	operator, atOnce, replayed time.Duration
	// creations are those of the operator.
	creations []creation
}

// endToEnd measures bursts of n Memcacheds. What else is measured of these is measured even if their duration is not wanted.
func (b *bench) endToEnd(ctx context.Context, n int) error {
	if b.wants(endToEnd) {
		b.say("M5 with %d bare sets of children", n)
		if err := b.onRig(ctx, false, func(r *rig) (err error) {
			b.burst.atOnce, err = b.bareChildren(ctx, r, n, r.createAtOnce)
			return err
		}); err != nil {
			return err
		}
	}
	if b.wants(converge, operations, endToEnd, failover) {
		b.say("M1, M2, M5, M8 with %d Memcacheds", n)
		if err := b.onRig(ctx, false, func(r *rig) error { return b.life(ctx, r, n) }); err != nil {
			return err
		}
	}
	if !b.wants(endToEnd) {
		return nil
	}
	last := b.burst.creations[len(b.burst.creations)-1].at
	b.say("M5 with %d bare sets of children when the operator created them, the last after %.1f s", n, last.Seconds())
	if err := b.onRig(ctx, false, func(r *rig) (err error) {
		b.burst.replayed, err = b.bareChildren(ctx, r, n, func(ctx context.Context, sets [][]client.Object) error {
			return r.replay(ctx, sets, b.burst.creations)
		})
		return err
	}); err != nil {
		return err
	}
	b.addEndToEnd(n)
	return nil
}

func (b *bench) addEndToEnd(n int) {
	ours, atOnce, replayed := b.burst.operator.Seconds(), b.burst.atOnce.Seconds(), b.burst.replayed.Seconds()
	name := fmt.Sprintf("%d resources until the last is Ready", n)
	b.report.add(endToEnd, name, "s", ours)
	b.report.add(endToEnd, "their bare children, created when the operator did, until the last is available", "s", replayed)
	b.report.hold(endToEnd, name+", ratio", "times", ours/replayed, threshold{bareRatio, false})
	b.report.add(endToEnd, "their bare children, created at once, until the last is available", "s", atOnce)
	b.report.add(endToEnd, name+", ratio to those created at once (aim 1.4)", "times", ours/atOnce)
}

// addMedians adds to the report when half of n Memcacheds that were created at once were ready, and half of their
// Deployments available.
func (b *bench) addMedians(n int, began time.Time, ready, available *tally) {
	name := fmt.Sprintf("%d resources until half of them are ", n)
	b.report.add(endToEnd, name+"Ready", "s", percentile(elapsed(began, ready.firsts()), 50).Seconds())
	b.report.add(endToEnd, name+"available, by their Deployments", "s", percentile(elapsed(began, available.firsts()), 50).Seconds())
}
