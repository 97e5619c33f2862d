// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bareRatio limits the time until all Memcacheds are Ready, as a multiple of the time until their bare children are available. Bare
// children are the objects that the operator creates for a Memcached, but the benchmark creates them without a Memcached. For this ratio,
// it creates each child at the time at which the operator created it.
const bareRatio = 1.15

// burst contains the durations of one round of M5. operator is the time until n Memcacheds that are created together are Ready. atOnce and
// replayed are times until their bare children are available. For atOnce, all children are created together. For replayed, each child is
// created at the time at which the operator created it.
type burst struct {
	operator, atOnce, replayed time.Duration
	// creations are the creations of children by the operator, in order of time.
	creations []creation
}

// endToEnd measures M1, M2, M5 and M8 with the same n Memcacheds, each only if it is selected.
func (b *bench) endToEnd(ctx context.Context, n int) error {
	if b.selected(endToEnd) {
		b.logf("M5 with %d bare sets of children", n)
		if err := b.onTestbed(ctx, false, func(ctx context.Context, t *testbed) {
			b.burst.atOnce = b.bareChildren(ctx, t, n, t.createAtOnce)
		}); err != nil {
			return err
		}
	}
	if b.selected(converge, operations, endToEnd, failover) {
		b.logf("M1, M2, M5, M8 with %d Memcacheds", n)
		if err := b.onTestbed(ctx, false, func(ctx context.Context, t *testbed) { b.lifecycle(ctx, t, n) }); err != nil {
			return err
		}
	}
	if !b.selected(endToEnd) {
		return nil
	}
	last := b.burst.creations[len(b.burst.creations)-1].at
	b.logf("M5 with %d bare sets of children, created when the operator created them, the last after %.1f s", n, last.Seconds())
	if err := b.onTestbed(ctx, false, func(ctx context.Context, t *testbed) {
		b.burst.replayed = b.bareChildren(ctx, t, n, func(ctx context.Context, sets [][]client.Object) error {
			return t.replay(ctx, sets, b.burst.creations)
		})
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
	b.report.addDetail(endToEnd, "their bare children, created when the operator did, until the last is available", "s", replayed)
	b.report.hold(endToEnd, name+", ratio", "times", ours/replayed, threshold{bareRatio, false})
	b.report.addDetail(endToEnd, "their bare children, created at once, until the last is available", "s", atOnce)
	b.report.add(endToEnd, name+", ratio to those created at once (aim 1.4)", "times", ours/atOnce)
}

// addMedians reports, for n Memcacheds that were created together, the time until half of them were Ready and the time until half of
// their Deployments were available.
func (b *bench) addMedians(n int, began time.Time, ready, available *counter) {
	name := fmt.Sprintf("%d resources until half of them are ", n)
	half := func(c *counter) float64 { return percentile(elapsed(began, c.firstMatches()), 50).Seconds() }
	b.report.addDetail(endToEnd, name+"Ready", "s", half(ready))
	b.report.addDetail(endToEnd, name+"available, by their Deployments", "s", half(available))
}
