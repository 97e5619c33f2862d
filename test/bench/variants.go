// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// variantIdle is how long the operator is observed after a restart with a variant. For Memcacheds with the smallest spec, the flag
// -idle sets this time.
const variantIdle = 5 * time.Second

// variant describes Memcacheds with a larger spec, which measureVariant measures.
type variant struct {
	// plural follows "resources" in the names of results, and singular follows "resource".
	plural, singular string
	change           func(*cachev1alpha1.Memcached)
	// operations are measured with some of the Memcacheds.
	operations []operation
}

var (
	withStatefulSets = variant{"with StatefulSets", "with a StatefulSet", statefulSetNodes, []operation{{
		// The three children that change are the StatefulSet, the ConfigMap with its servers, and the ConfigMap with the arguments of
		// its nodes.
		name: "size changed from 3 to 5", children: 3, statuses: changeStatuses,
		do: func(ctx context.Context, t *testbed, i int) error { return t.resize(ctx, i, 5) },
	}}}
	// The remaining operations are left out, because the number of status writes after them varies from run to run.
	withMonitoring = variant{"with monitoring", "with monitoring", monitored, after[:2]}
)

func statefulSetNodes(mc *cachev1alpha1.Memcached) {
	mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet
}

// monitored adds an agent to each node of a Memcached.
func monitored(mc *cachev1alpha1.Memcached) { mc.Spec.Monitoring.Enabled = true }

// statefulSets calls measureVariant for n Memcacheds with StatefulSets, and then proxies for n idle MemcachedProxies in front of them.
func (b *bench) statefulSets(ctx context.Context, t *testbed, n int) {
	b.measureVariant(ctx, t, n, withStatefulSets)
	b.proxies(ctx, t, n)
}

// proxies creates n MemcachedProxies, and checks that the operator then sends no write. It must not send a GET either, except to the
// pods: the simulated pods do not answer, so the operator keeps asking them.
func (b *bench) proxies(ctx context.Context, t *testbed, n int) {
	since, user := must(t.log.mark()), t.operators[len(t.operators)-1].user
	reported := t.countObjects(ctx, &cachev1alpha1.MemcachedProxyList{}, func(object client.Object) bool {
		proxy, ok := object.(*cachev1alpha1.MemcachedProxy)
		return ok && proxy.Status.ReadyReplicas == 1
	})
	defer reported.stop()
	check(inParallel(n, func(i int) error {
		mc := memcachedNumber(i)
		proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "front-" + mc.Name}}
		proxy.Spec.Size, proxy.Spec.Pools = ptr.To[int32](1), []cachev1alpha1.MemcachedProxyPool{{Name: mc.Name}}
		return t.k8s.Create(ctx, proxy)
	}))
	during("waiting for MemcachedProxies", func() { reported.waitFor(ctx, n) })
	t.waitUntilQuiet(ctx, since, user)
	since = must(t.log.mark())
	check(pause(ctx, b.options.idle))
	b.holdNothing(must(t.log.since(since, user)), fmt.Sprintf("%d MemcachedProxies, %s idle", n, b.options.idle))
}

// monitoring measures n Memcacheds with monitoring (measureVariant), and compares the requests with those for Memcacheds without
// monitoring.
func (b *bench) monitoring(ctx context.Context, t *testbed, n int) {
	b.holdNoMore(b.measureVariant(ctx, t, n, withMonitoring))
}

// measureVariant measures M1 to M3 for n Memcacheds of a variant: the writes until they are Ready, the writes after each operation,
// and the requests of a restart. It returns the cost of each stage.
func (b *bench) measureVariant(ctx context.Context, t *testbed, n int, v variant) costs {
	spent := costs{}
	o, ready := t.startOperatorFor(ctx, n)
	defer ready.stop()
	p := t.beginPhase(ctx, o)
	defer p.versions.stop()
	_, took := t.createReady(ctx, ready, n, v.change)
	b.logf("%d Memcacheds %s are ready after %.1f s", n, v.plural, took.Seconds())
	requests := b.endPhase(ctx, p, converge, fmt.Sprintf("%d resources %s from creation to Ready", n, v.plural))
	b.holdWrites(requests, n, len(kindsOf(memcachedNumber(0, v.change))), "resource "+v.singular)
	spent[created] = costOf(requests, n)
	for _, op := range v.operations {
		name, affected := op.name, min(20, max(1, n/20))
		op.name += ", " + v.singular
		during(op.name, func() {
			spent[stage{operations, name}] = b.operateOnce(ctx, t, o, op, affected, func() { ready.waitFor(ctx, n) })
		})
	}
	check(o.stop())
	_, requests = t.restartOperator(ctx, n, variantIdle)
	b.holdNothing(requests, fmt.Sprintf("restart with %d resources %s, then %s idle", n, v.plural, variantIdle))
	spent[restarted] = costOfStart(requests, n)
	return spent
}
