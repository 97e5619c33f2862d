// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// progressStatusInterval is the shortest time between two status writes that only report progress, as in package controllers.
const progressStatusInterval = 5 * time.Second

// change is the creation or a later change of a Memcached with many nodes.
type change struct {
	name string
	do   func(context.Context) error
	// children and statuses limit the writes after the change. In addition, the status may be written once every five seconds.
	children, statuses int
}

// manyNodes measures M10: the creation and a rollout of one Memcached with n nodes.
func (b *bench) manyNodes(ctx context.Context, t *testbed, n int) {
	o, ready := t.startOperatorFor(ctx, 1)
	defer ready.stop()
	mc := memcachedNumber(0)
	mc.Spec.Size = int32(n) //nolint:gosec // 1000 at most
	mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromString("10%"))
	for _, c := range []change{
		{fmt.Sprintf("a resource with %d nodes created", n), func(ctx context.Context) error {
			return t.k8s.Create(ctx, mc)
		}, len(childKinds), mostStatuses},
		{fmt.Sprintf("image of %d nodes changed, 10 %% at a time", n), func(ctx context.Context) error {
			return t.patch(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = otherImage })
		}, 1, changeStatuses},
	} {
		during(c.name, func() { b.changeMany(ctx, t, o, ready, c) })
	}
}

type observation struct {
	reconciles histogram
	closed     float64
	usage      usage
}

func (t *testbed) observe(ctx context.Context, o *replica) observation {
	f := must(o.metrics.read(ctx))
	return observation{
		reconciles: f.histogram("controller_runtime_reconcile_time_seconds", "controller", "memcached"),
		closed:     t.closedPodWatches(ctx),
		usage:      must(usageOf(o.Pid())),
	}
}

func (b *bench) changeMany(ctx context.Context, t *testbed, o *replica, ready *counter, c change) {
	p := t.beginPhase(ctx, o)
	defer p.versions.stop()
	before := t.observe(ctx, o)
	began := time.Now()
	check(c.do(ctx))
	// The quiet period may end before the operator notices the change. So wait until the Memcached is Ready, too.
	t.waitUntilQuiet(ctx, p.mark, o.user)
	took := ready.waitFor(ctx, 1).Sub(began)
	b.holdMany(b.endPhase(ctx, p, manyNodes, c.name), c, took)
	b.addObservation(c, t.observe(ctx, o), before)
}

// holdMany reports the writes of a change, and the time that the change took.
func (b *bench) holdMany(requests []request, c change, took time.Duration) {
	statuses := countIf(requests, func(r request) bool { return r.isWrite() && r.toStatus() })
	children := countIf(requests, request.isWrite) - statuses
	podWatches := countIf(requests, func(r request) bool { return r.resource == "pods" && r.columnOf() == watch })
	written := 0
	for _, r := range requests {
		if r.isWrite() && r.toStatus() {
			written += r.bytes
		}
	}
	b.report.addDetail(manyNodes, "time until it is Ready: "+c.name, "s", took.Seconds())
	b.report.holdCount(manyNodes, "child writes: "+c.name, "writes", children, c.children)
	b.report.addDetail(manyNodes, "status writes: "+c.name, "writes", float64(statuses))
	b.report.holdCount(manyNodes, "status writes beside one each five seconds: "+c.name, "writes",
		statuses-int(took/progressStatusInterval), c.statuses)
	b.report.addDetail(manyNodes, "sent in status writes: "+c.name, "KiB", float64(written)/1024)
	b.report.addDetail(manyNodes, "watches of pods that the operator took up again: "+c.name, "watches", float64(podWatches))
}

// addObservation reports what happened between two observations, one from before the change and one from now, and the memory in each.
func (b *bench) addObservation(c change, now, before observation) {
	const toMilliseconds = 1000
	reconciles := now.reconciles.since(before.reconciles)
	b.report.addDetail(manyNodes, "watches of pods that the API server closed, whoever's: "+c.name, "watches", now.closed-before.closed)
	b.report.addDetail(manyNodes, "reconciliations: "+c.name, "reconciliations", float64(reconciles.count))
	b.report.addDetail(manyNodes, "a reconciliation, mean: "+c.name, "ms", reconciles.mean()*toMilliseconds)
	b.report.addDetail(manyNodes, "a reconciliation, upper bound of 99 %: "+c.name, "ms", reconciles.percentile(99)*toMilliseconds)
	b.report.addDetail(manyNodes, "CPU: "+c.name, "s", (now.usage.cpu - before.usage.cpu).Seconds())
	b.report.addDetail(manyNodes, "memory before: "+c.name, "MiB", before.usage.resident)
	b.report.addDetail(manyNodes, "memory after: "+c.name, "MiB", now.usage.resident)
	b.report.addDetail(manyNodes, "peak memory: "+c.name, "MiB", now.usage.peak)
}

// closedPodWatches returns how many watches of pods the API server has ended since its start because the client was too slow.
func (t *testbed) closedPodWatches(ctx context.Context) float64 {
	k8s := must(discovery.NewDiscoveryClientForConfig(t.cluster.Config))
	text := must(k8s.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx))
	return must(parseFamilies(bytes.NewReader(text))).sum("apiserver_terminated_watchers_total", "resource", "pods")
}
