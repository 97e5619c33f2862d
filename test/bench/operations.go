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

// otherImage differs from the default one in its tag only. Simulated nodes do not pull.
const otherImage = "docker.io/library/memcached:1.6.46"

// operation is what happens to one Memcached.
type operation struct {
	name string
	do   func(ctx context.Context, r *rig, i int) error
	// children and statuses are how many writes may follow at most.
	children, statuses int
	// removes says that the Memcached is gone afterwards.
	removes bool
}

// changeStatuses is how many status writes may follow a change, if it does not take long.
const changeStatuses = 3

// after are the operations in the order in which they happen to the same Memcacheds.
var after = []operation{
	{name: "image changed", children: 1, statuses: changeStatuses, do: func(ctx context.Context, r *rig, i int) error {
		return r.patch(ctx, memcachedNumber(i), func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = otherImage })
	}},
	{name: "size changed from 3 to 5", children: 1, statuses: changeStatuses, do: func(ctx context.Context, r *rig, i int) error {
		return r.resize(ctx, i, 5)
	}},
	{
		name: "Deployment scaled up by somebody else", children: 1, statuses: changeStatuses,
		do: func(ctx context.Context, r *rig, i int) error { return r.scaleDeployment(ctx, i, 8) },
	},
	{
		name: "Deployment scaled down by somebody else", children: 1, statuses: changeStatuses,
		do: func(ctx context.Context, r *rig, i int) error { return r.scaleDeployment(ctx, i, 1) },
	},
	{name: "deleted", removes: true, do: func(ctx context.Context, r *rig, i int) error {
		return r.k8s.Delete(ctx, memcachedNumber(i))
	}},
}

func (r *rig) scaleDeployment(ctx context.Context, i, replicas int) error {
	mc := memcachedNumber(i)
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = mc.Namespace, mc.Name
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return r.k8s.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, patch))
}

// operate measures the writes after each operation on some of n Memcacheds that are ready. It returns how many it deleted:
// the first ones.
func (b *bench) operate(ctx context.Context, r *rig, o *operator, n int) (int, error) {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, err := r.tally(following, memcachedList(), isReady)
	if err != nil {
		return 0, err
	}
	concerned := max(1, n/50)
	remaining := n
	for _, op := range after {
		if op.removes {
			remaining -= concerned
		}
		if err := b.operateOnce(ctx, r, o, op, concerned, func() error {
			_, err := ready.reach(ctx, remaining)
			return err
		}); err != nil {
			return 0, fmt.Errorf("%s: %w", op.name, err)
		}
	}
	return concerned, nil
}

func (b *bench) operateOnce(ctx context.Context, r *rig, o *operator, op operation, n int, ready func() error) error {
	p, err := r.watchPhase(ctx, o)
	if err != nil {
		return err
	}
	defer p.end()
	for i := range n {
		if err := errors.Join(op.do(ctx, r, i), pause(ctx, pace)); err != nil {
			return err
		}
	}
	// Before its first silence, the operator may not have noticed what happened to all of them.
	if _, err := r.silent(ctx, p.mark, o.user); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	requests, err := b.endPhase(ctx, p, operations, fmt.Sprintf("%d resources: %s", n, op.name))
	if err != nil {
		return err
	}
	children, statuses := writesPerObject(requests)
	if op.children > 0 {
		b.report.hold(operations, "resources without a child write: "+op.name, "resources", float64(n-len(children)), threshold{0, true})
	}
	b.report.hold(operations, "child writes, most: "+op.name, "writes", float64(most(children)), threshold{float64(op.children), true})
	b.report.hold(operations, "status writes, most: "+op.name, "writes", float64(most(statuses)), threshold{float64(op.statuses), true})
	return nil
}

func most(numbers map[types.NamespacedName]int) int {
	found := 0
	for _, n := range numbers {
		found = max(found, n)
	}
	return found
}

// pace is the time between two operations: what a cluster is like under load is measured elsewhere.
const pace = 500 * time.Millisecond
