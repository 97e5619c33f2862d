// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// rawRatio limits the time of the operator, as a multiple of the time of the raw writer. The raw writer is a client that does only the
// writes that an operator must do (baseline.go).
const rawRatio = 1.25

// compareThroughput measures M4: how long the operator and two raw writers take to create the children of n Memcacheds in a cluster
// without other controllers. The threshold applies to the raw writer that uses server-side apply, like the operator. The raw writer
// without server-side apply shows what server-side apply costs.
func (b *bench) compareThroughput(ctx context.Context, n int) error {
	var ours time.Duration
	var raw [2]time.Duration
	err := b.onTestbed(ctx, true, func(ctx context.Context, t *testbed) {
		t.startOperator(ctx)
		ours = t.fill(ctx, n)
	})
	if err != nil {
		return err
	}
	for i, how := range []create{apply, post} {
		err := b.onTestbed(ctx, true, func(ctx context.Context, t *testbed) { raw[i] = t.rawThroughput(ctx, n, how) })
		if err != nil {
			return fmt.Errorf("the raw writer: %w", err)
		}
	}
	took, applied, posted := ours.Seconds(), raw[0].Seconds(), raw[1].Seconds()
	b.logf("children of %d Memcacheds: operator %.1f s, raw writer %.1f s, without apply %.1f s", n, took, applied, posted)
	what := fmt.Sprintf("children and status of %d resources", n)
	b.report.addDetail(throughput, what, "s", took)
	b.report.addDetail(throughput, what+", raw writer", "s", applied)
	b.report.addDetail(throughput, what+", raw writer that creates without apply", "s", posted)
	b.report.hold(throughput, what+", ratio", "times", took/applied, threshold{rawRatio, false})
	b.report.addDetail(throughput, what+", ratio to the one without apply", "times", took/posted)
	return nil
}

func (t *testbed) rawThroughput(ctx context.Context, n int, how create) (took time.Duration) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	w := t.startRawWriter(working, n, how)
	err := attempt(func() { took = t.fill(ctx, n) })
	check(errors.Join(err, w.failure()))
	if c := count(t.waitUntilQuiet(ctx, 0, rawUser)); c[accepted] != n*(len(childKinds)+1) || c[rejected] > 0 {
		check(fmt.Errorf("it sent %d writes, %d of which were rejected", c[accepted]+c[rejected], c[rejected]))
	}
	check(w.failure())
	return took
}

// fill creates n Memcacheds, and returns how long it took until all had their children and a status.
func (t *testbed) fill(ctx context.Context, n int) (took time.Duration) {
	t.createNamespaces(ctx, n, false)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	counters := []*counter{t.countObjects(watching, memcachedList(), hasStatus)}
	for _, kind := range childKinds {
		counters = append(counters, t.countObjects(watching, metadataList(kind), isBenchmarks))
	}
	began := t.createMemcacheds(ctx, n)
	for _, one := range counters {
		took = max(took, one.waitFor(ctx, n).Sub(began))
	}
	return took
}

func isBenchmarks(object client.Object) bool {
	return strings.HasPrefix(object.GetNamespace(), "caches-")
}

func hasStatus(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && mc.Status.ObservedGeneration == mc.Generation
}
