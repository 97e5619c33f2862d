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

// rawRatio is how much longer than the raw writer the operator may take.
const rawRatio = 1.25

// compareThroughput measures how long the operator and raw writers take to create the children of n Memcacheds, on an
// API server without controllers. The operator is held to the raw writer that sends the same requests. The other one shows
// what server-side apply costs.
func (b *bench) compareThroughput(ctx context.Context, n int) error {
	ours, err := b.onNewRig(ctx, true, func(r *rig) (time.Duration, error) { return r.operatorThroughput(ctx, n) })
	if err != nil {
		return err
	}
	var raw [2]time.Duration
	for i, how := range []create{apply, post} {
		raw[i], err = b.onNewRig(ctx, true, func(r *rig) (time.Duration, error) { return r.rawThroughput(ctx, n, how) })
		if err != nil {
			return fmt.Errorf("the raw writer: %w", err)
		}
	}
	took, applied, posted := ours.Seconds(), raw[0].Seconds(), raw[1].Seconds()
	b.say("children of %d Memcacheds: operator %.1f s, raw writer %.1f s, if it need not apply %.1f s", n, took, applied, posted)
	what := fmt.Sprintf("children and status of %d resources", n)
	b.report.add(throughput, what, "s", took)
	b.report.add(throughput, what+", raw writer", "s", applied)
	b.report.add(throughput, what+", raw writer that creates without apply", "s", posted)
	b.report.hold(throughput, what+", ratio", "times", took/applied, threshold{rawRatio, false})
	b.report.add(throughput, what+", ratio to the one without apply", "times", took/posted)
	return nil
}

func (r *rig) operatorThroughput(ctx context.Context, n int) (time.Duration, error) {
	if _, err := r.startOperator(ctx); err != nil {
		return 0, err
	}
	return r.fill(ctx, n)
}

func (r *rig) rawThroughput(ctx context.Context, n int, how create) (time.Duration, error) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := r.startRawWriter(working, n, how)
	if err != nil {
		return 0, err
	}
	took, err := r.fill(ctx, n)
	if err != nil {
		return 0, errors.Join(err, w.failure())
	}
	requests, err := r.silent(ctx, 0, rawUser)
	if err != nil {
		return 0, err
	}
	if c := count(requests); c[accepted] != n*(len(childKinds)+1) || c[rejected] > 0 {
		return 0, fmt.Errorf("it has sent %d writes, of which %d were rejected", c[accepted]+c[rejected], c[rejected])
	}
	return took, w.failure()
}

// fill creates n Memcacheds and returns when all have their children and a status.
func (r *rig) fill(ctx context.Context, n int) (time.Duration, error) {
	if err := r.createNamespaces(ctx, n, false); err != nil {
		return 0, err
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	var tallies []*tally
	for _, kind := range childKinds {
		t, err := r.tally(following, metadataList(kind), isBenchmarks)
		if err != nil {
			return 0, err
		}
		tallies = append(tallies, t)
	}
	statuses, err := r.tally(following, memcachedList(), hasStatus)
	if err != nil {
		return 0, err
	}
	began, err := r.createMemcacheds(ctx, n)
	if err != nil {
		return 0, err
	}
	var took time.Duration
	for _, t := range append(tallies, statuses) {
		done, err := t.reach(ctx, n)
		if err != nil {
			return 0, err
		}
		took = max(took, done.Sub(began))
	}
	return took, nil
}

// isBenchmarks says whether an object is in one of the namespaces of the Memcacheds.
func isBenchmarks(object client.Object) bool {
	return strings.HasPrefix(object.GetNamespace(), "caches-")
}

func hasStatus(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && mc.Status.ObservedGeneration == mc.Generation
}
