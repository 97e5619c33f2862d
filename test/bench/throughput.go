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

// rawRatio limits how much longer than the raw writer the operator may take.
const rawRatio = 1.25

// compareThroughput measures how long the operator and raw writers take to create the children of n Memcacheds, on an API
// server without controllers. The threshold compares the operator with the raw writer that sends the same requests. The other
// raw writer shows the cost of server-side apply.
func (b *bench) compareThroughput(ctx context.Context, n int) error {
	var ours time.Duration
	var raw [2]time.Duration
	err := b.onTestbed(ctx, true, func(ctx context.Context, t *testbed) (err error) {
		ours, err = t.operatorThroughput(ctx, n)
		return err
	})
	if err != nil {
		return err
	}
	for i, how := range []create{apply, post} {
		err := b.onTestbed(ctx, true, func(ctx context.Context, t *testbed) (err error) {
			raw[i], err = t.rawThroughput(ctx, n, how)
			return err
		})
		if err != nil {
			return fmt.Errorf("the raw writer: %w", err)
		}
	}
	took, applied, posted := ours.Seconds(), raw[0].Seconds(), raw[1].Seconds()
	b.logf("children of %d Memcacheds: operator %.1f s, raw writer %.1f s, without apply %.1f s", n, took, applied, posted)
	what := fmt.Sprintf("children and status of %d resources", n)
	b.report.add(throughput, what, "s", took)
	b.report.add(throughput, what+", raw writer", "s", applied)
	b.report.add(throughput, what+", raw writer that creates without apply", "s", posted)
	b.report.hold(throughput, what+", ratio", "times", took/applied, threshold{rawRatio, false})
	b.report.add(throughput, what+", ratio to the one without apply", "times", took/posted)
	return nil
}

func (t *testbed) operatorThroughput(ctx context.Context, n int) (time.Duration, error) {
	if _, err := t.startOperator(ctx); err != nil {
		return 0, err
	}
	return t.fill(ctx, n)
}

func (t *testbed) rawThroughput(ctx context.Context, n int, how create) (time.Duration, error) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := t.startRawWriter(working, n, how)
	if err != nil {
		return 0, err
	}
	took, err := t.fill(ctx, n)
	if err != nil {
		return 0, errors.Join(err, w.failure())
	}
	requests, err := t.waitUntilQuiet(ctx, 0, rawUser)
	if err != nil {
		return 0, err
	}
	if c := count(requests); c[accepted] != n*(len(childKinds)+1) || c[rejected] > 0 {
		return 0, fmt.Errorf("it sent %d writes, %d of which were rejected", c[accepted]+c[rejected], c[rejected])
	}
	return took, w.failure()
}

// fill creates n Memcacheds and returns how long it took until all had their children and a status.
func (t *testbed) fill(ctx context.Context, n int) (time.Duration, error) {
	if err := t.createNamespaces(ctx, n, false); err != nil {
		return 0, err
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	statuses, err := t.countObjects(watching, memcachedList(), hasStatus)
	if err != nil {
		return 0, err
	}
	counters := []*counter{statuses}
	for _, kind := range childKinds {
		children, err := t.countObjects(watching, metadataList(kind), isBenchmarks)
		if err != nil {
			return 0, err
		}
		counters = append(counters, children)
	}
	began, err := t.createMemcacheds(ctx, n)
	if err != nil {
		return 0, err
	}
	var took time.Duration
	for _, one := range counters {
		done, err := one.waitFor(ctx, n)
		if err != nil {
			return 0, err
		}
		took = max(took, done.Sub(began))
	}
	return took, nil
}

// isBenchmarks reports whether an object is in one of the namespaces of the Memcacheds.
func isBenchmarks(object client.Object) bool {
	return strings.HasPrefix(object.GetNamespace(), "caches-")
}

func hasStatus(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && mc.Status.ObservedGeneration == mc.Generation
}
