// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// usage is the memory, the goroutines and the metric series of the test process while the operator is idle.
type usage struct {
	heap               uint64 // bytes
	goroutines, series int
}

// TestEndurance creates, scales and deletes Memcacheds for the duration in the environment variable ENDURANCE, such as 1h (default:
// 30s). At the end, memory, goroutines and metric series must be close to their values after the first two rounds.
func TestEndurance(t *testing.T) {
	duration := 30 * time.Second
	if text := os.Getenv("ENDURANCE"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	o := startSharedOperator(t)
	sandboxes := make([]*sandbox, parallelism)
	for i := range sandboxes {
		sandboxes[i] = newSandbox(t.Context(), t)
	}
	rounds := 0
	round := func() {
		var group sync.WaitGroup
		for _, s := range sandboxes {
			group.Go(func() { churn(t, s) })
		}
		group.Wait()
		rounds++
	}
	round()
	round()
	before := measure(t, o)
	for start := time.Now(); time.Since(start) < duration && !t.Failed(); {
		round()
	}
	after := measure(t, o)
	t.Logf("%d rounds of %d Memcached resources; before: %+v, after: %+v", rounds, parallelism, before, after)
	// A reconcile outcome that has not occurred before adds a few series. A leak would add a series for each of hundreds of Memcacheds.
	if after.series > before.series+10 {
		t.Errorf("%d series exist, %d did before", after.series, before.series)
	}
	if after.goroutines > before.goroutines+20 { // each connection has goroutines, and the number of connections varies
		t.Errorf("%d goroutines run, %d did before", after.goroutines, before.goroutines)
	}
	if after.heap > before.heap*5/4+8<<20 {
		t.Errorf("%d bytes are in use, %d were before", after.heap, before.heap)
	}
}

func churn(t *testing.T, shared *sandbox) {
	t.Helper()
	ctx, cancel := limited(t)
	defer cancel()
	s := &sandbox{T: t, ctx: ctx, namespace: shared.namespace}
	defer history.forget(s.namespace)
	s.createCache(1)
	s.await("converge", settled)
	s.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = 2 })
	s.await("scale", settled)
	s.removeAll()
}

// measure waits until no Memcached is left in the operator's cache and metrics, and then returns the usage.
func measure(t *testing.T, o *operator) usage {
	t.Helper()
	ctx, cancel := limited(t)
	defer cancel()
	var series, instances int
	err := eventually(ctx, "the operator did not forget the Memcacheds", func() bool {
		var left cachev1alpha1.MemcachedList
		series, instances = countSeries(t, o)
		return o.manager.GetCache().List(ctx, &left) == nil && len(left.Items) == 0 && instances == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC() // the second run frees objects that had finalizers
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return usage{heap: memory.HeapAlloc, goroutines: runtime.NumGoroutine(), series: series}
}

// countSeries returns the number of all metric series, and of those about individual Memcacheds.
func countSeries(t *testing.T, o *operator) (series, instances int) {
	t.Helper()
	for _, gatherer := range []prometheus.Gatherer{o.registry, ctrlmetrics.Registry} {
		families, err := gatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			series += len(family.GetMetric())
			if strings.HasPrefix(family.GetName(), "memcached_operator_memcached_") {
				instances += len(family.GetMetric())
			}
		}
	}
	return series, instances
}
