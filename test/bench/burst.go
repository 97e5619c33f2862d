// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bareRatio limits the time until all Memcacheds are Ready, as a multiple of the time until their bare children are available. Bare
// children are the objects that the operator creates for a Memcached, but the benchmark creates them without a Memcached.
const bareRatio = 1.75

// burst contains the durations of one round of M5. operator is the time until n Memcacheds that are created together are Ready. bare is
// the time until their bare children, which are also created together, are available.
type burst struct {
	operator, bare time.Duration
}

// endToEnd measures M1, M2, M5 and M8 with the same n Memcacheds, each only if it is selected.
func (b *bench) endToEnd(ctx context.Context, n int) error {
	if b.selected(endToEnd) {
		b.logf("M5 with %d bare sets of children", n)
		if err := b.onTestbed(ctx, false, func(ctx context.Context, t *testbed) { b.burst.bare = b.bareChildren(ctx, t, n) }); err != nil {
			return err
		}
	}
	if b.selected(converge, operations, endToEnd, failover) {
		b.logf("M1, M2, M5, M8 with %d Memcacheds", n)
		if err := b.onTestbed(ctx, false, func(ctx context.Context, t *testbed) { b.lifecycle(ctx, t, n) }); err != nil {
			return err
		}
	}
	if b.selected(endToEnd) {
		b.addEndToEnd(n)
	}
	return nil
}

func (b *bench) addEndToEnd(n int) {
	name := fmt.Sprintf("%d resources until the last is Ready", n)
	b.report.add(endToEnd, name, "s", b.burst.operator.Seconds())
	b.report.addDetail(endToEnd, "their bare children until the last is available", "s", b.burst.bare.Seconds())
	ratio := b.burst.operator.Seconds() / b.burst.bare.Seconds()
	b.report.hold(endToEnd, name+", ratio (aim 1.4)", "times", ratio, threshold{bareRatio, false})
}

// addMedians reports, for n Memcacheds that were created together, the time until half of them were Ready and the time until half of
// their Deployments were available.
func (b *bench) addMedians(n int, began time.Time, ready, available *counter) {
	name := fmt.Sprintf("%d resources until half of them are ", n)
	half := func(c *counter) float64 { return percentile(elapsed(began, c.firstMatches()), 50).Seconds() }
	b.report.addDetail(endToEnd, name+"Ready", "s", half(ready))
	b.report.addDetail(endToEnd, name+"available, by their Deployments", "s", half(available))
}

// bareChildren creates the bare children of n Memcacheds together, and measures how long they take to become available.
func (b *bench) bareChildren(ctx context.Context, t *testbed, n int) (took time.Duration) {
	t.createNamespaces(ctx, n, true)
	available := t.countObjects(ctx, &appsv1.DeploymentList{}, isAvailable)
	defer available.stop()
	v := t.trackVersions(ctx) // so that there are as many watches as in the measurement of the operator
	defer v.stop()
	children := must(childrenOf(n))
	began := time.Now()
	check(inParallel(n, func(i int) error {
		var failures []error
		for _, object := range children[i] {
			failures = append(failures, t.k8s.Create(ctx, object))
		}
		return errors.Join(failures...)
	}))
	created := time.Since(began)
	during("waiting for Deployments to be available", func() { took = available.waitFor(ctx, n).Sub(began) })
	b.logf("%d bare sets of children, created in %.1f s, are available after %.1f s", n, created.Seconds(), took.Seconds())
	return took
}

func isAvailable(object client.Object) bool {
	deployment, ok := object.(*appsv1.Deployment)
	return ok && deployment.Status.AvailableReplicas == size
}
