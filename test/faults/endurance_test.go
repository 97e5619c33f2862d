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

// usage is what a process that does nothing any more still holds.
type usage struct {
	heap               uint64 // bytes
	goroutines, series int
}

// TestEndurance creates, scales and deletes for as long as ENDURANCE says (a duration such as 1h, by default 30 seconds).
// Then the memory, the goroutines and the series of the metrics are about what they were after the first rounds.
func TestEndurance(t *testing.T) {
	duration := 30 * time.Second
	if text := os.Getenv("ENDURANCE"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	proxy, err := newProxy()
	if err != nil {
		t.Fatal(err)
	}
	o, err := startOperator(t.Context(), proxy, "")
	if err != nil {
		t.Fatal(err)
	}
	places := make([]*play, lanes)
	for i := range places {
		places[i] = newPlace(t)
	}
	rounds := 0
	round := func() {
		var group sync.WaitGroup
		for _, place := range places {
			group.Go(func() { churn(t, place) })
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
	t.Logf("%d rounds of %d Memcached resources; before: %+v, after: %+v", rounds, lanes, before, after)
	// An outcome that occurs for the first time adds a series. A leak adds one for each of hundreds of Memcached resources.
	if after.series > before.series+10 {
		t.Errorf("there are %d series, and were %d", after.series, before.series)
	}
	if after.goroutines > before.goroutines+20 { // connections come and go
		t.Errorf("there are %d goroutines, and were %d", after.goroutines, before.goroutines)
	}
	if after.heap > before.heap*5/4+8<<20 {
		t.Errorf("%d bytes are in use, and were %d", after.heap, before.heap)
	}
	if err := o.crash(); err != nil {
		t.Error(err)
	}
}

// churn is the life of one Memcached.
func churn(t *testing.T, place *play) {
	t.Helper()
	ctx, cancel := limited(t)
	defer cancel()
	p := &play{T: t, ctx: ctx, namespace: place.namespace}
	defer history.forget(p.namespace)
	p.createCache(1)
	p.await("converge", settled)
	p.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = 2 })
	p.await("scale", settled)
	p.removeAll()
}

// measure waits until the operator has forgotten the Memcached resources, and measures what is left.
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
	runtime.GC() // what has a finalizer goes the second time
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return usage{heap: memory.HeapAlloc, goroutines: runtime.NumGoroutine(), series: series}
}

// countSeries counts the series of the operator, and among them those of instances of Memcached.
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
