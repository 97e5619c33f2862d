// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// otherImage differs from the default image only in its tag. It is never pulled, because the cluster nodes are simulated.
const otherImage = "docker.io/library/memcached:1.6.46"

type operation struct {
	name string
	do   func(ctx context.Context, t *testbed, i int) error
	// children and statuses limit the writes to the children and to the status of each Memcached after the operation.
	children, statuses int
	// removes means that the operation deletes the Memcached.
	removes bool
}

// changeStatuses limits the status writes to a Memcached after a change that completes within a short time.
const changeStatuses = 3

// after lists operations whose writes M2 counts. The benchmark applies all of them to the same Memcacheds, in this order.
var after = []operation{
	{name: "image changed", children: 1, statuses: changeStatuses, do: func(ctx context.Context, t *testbed, i int) error {
		return t.patch(ctx, memcachedNumber(i), func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = otherImage })
	}},
	{
		name: "size changed from 3 to 5", children: 1, statuses: changeStatuses,
		do: func(ctx context.Context, t *testbed, i int) error { return t.resize(ctx, i, 5) },
	},
	{
		name: "Deployment scaled up by somebody else", children: 1, statuses: changeStatuses,
		do: func(ctx context.Context, t *testbed, i int) error {
			return scaleDeployment(ctx, t.k8s, memcachedNumber(i), 8)
		},
	},
	{
		name: "Deployment scaled down by somebody else", children: 1, statuses: changeStatuses,
		do: func(ctx context.Context, t *testbed, i int) error {
			return scaleDeployment(ctx, t.k8s, memcachedNumber(i), 1)
		},
	},
	{name: "deleted", removes: true, do: func(ctx context.Context, t *testbed, i int) error {
		return t.k8s.Delete(ctx, memcachedNumber(i))
	}},
}

func scaleDeployment(ctx context.Context, k8s client.Client, mc *cachev1alpha1.Memcached, replicas int32) error {
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = mc.Namespace, mc.Name
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return k8s.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, patch))
}

// operate applies operations to a few of n Ready Memcacheds, and measures the writes that follow (M2). The last operation deletes these
// few. operate returns their number.
func (b *bench) operate(ctx context.Context, t *testbed, o *replica, n int) int {
	ready := t.countObjects(ctx, memcachedList(), isReady)
	defer ready.stop()
	affected := max(1, n/50)
	remaining := n
	for _, op := range after {
		if op.removes {
			remaining -= affected
		}
		during(op.name, func() {
			b.plain[stage{operations, op.name}] = b.operateOnce(ctx, t, o, op, affected, func() { ready.waitFor(ctx, remaining) })
		})
	}
	return affected
}

// operateOnce applies the operation to the first n Memcacheds, measures the writes that follow, and returns the cost.
func (b *bench) operateOnce(ctx context.Context, t *testbed, o *replica, op operation, n int, untilReady func()) cost {
	p := t.beginPhase(ctx, o)
	defer p.versions.stop()
	for i := range n {
		check(errors.Join(op.do(ctx, t, i), pause(ctx, pace)))
	}
	// The quiet period may end before the operator notices all changes. So wait until the Memcacheds are Ready, too.
	t.waitUntilQuiet(ctx, p.mark, o.user)
	untilReady()
	requests := b.endPhase(ctx, p, operations, fmt.Sprintf("%d resources: %s", n, op.name))
	children, statuses := writesPerObject(requests)
	if op.children > 0 {
		b.report.holdCount(operations, "resources without a child write: "+op.name, "resources", n-len(children), 0)
	}
	b.report.holdCount(operations, "child writes, most: "+op.name, "writes", most(children), op.children)
	b.report.holdCount(operations, "status writes, most: "+op.name, "writes", most(statuses), op.statuses)
	return costOf(requests, n)
}

func most(numbers map[types.NamespacedName]int) int {
	found := 0
	for _, n := range numbers {
		found = max(found, n)
	}
	return found
}

// pace is the time between two operations, changes or creations. It keeps the load on the cluster low, because other metrics measure
// high load.
const pace = 500 * time.Millisecond
