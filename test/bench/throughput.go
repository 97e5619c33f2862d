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

// compareThroughput measures M4: how long the operator and the raw writer take to create the children of n Memcacheds in a cluster without
// other controllers. The operator goes first and last: what slows the machine down for some minutes then affects both.
func (b *bench) compareThroughput(ctx context.Context, n int) error {
	var took, raw time.Duration
	operator := func(ctx context.Context, t *testbed) {
		t.startOperator(ctx)
		took += t.fill(ctx, n) / 2
	}
	rawWriter := func(ctx context.Context, t *testbed) { raw += t.rawThroughput(ctx, n) / 2 }
	for _, measure := range []func(context.Context, *testbed){operator, rawWriter, rawWriter, operator} {
		if err := b.onTestbed(ctx, true, measure); err != nil {
			return err
		}
	}
	b.logf("children of %d Memcacheds: operator %.1f s, raw writer %.1f s", n, took.Seconds(), raw.Seconds())
	what := fmt.Sprintf("children and status of %d resources", n)
	b.report.addDetail(throughput, what, "s", took.Seconds())
	b.report.addDetail(throughput, what+", raw writer", "s", raw.Seconds())
	b.report.hold(throughput, what+", ratio", "times", took.Seconds()/raw.Seconds(), threshold{rawRatio, false})
	return nil
}

func (t *testbed) rawThroughput(ctx context.Context, n int) (took time.Duration) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	w := t.startRawWriter(working, n)
	err := attempt(func() { took = t.fill(ctx, n) })
	check(errors.Join(err, w.failure()))
	if c := count(t.waitUntilQuiet(ctx, 0, rawUser)); c[accepted] != n*(len(childKinds)+1) || c[rejected] > 0 {
		check(fmt.Errorf("the raw writer sent %d writes, %d of which were rejected", c[accepted]+c[rejected], c[rejected]))
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
