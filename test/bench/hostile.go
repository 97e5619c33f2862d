// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// hostile measures what n Memcacheds cost the operator that are as large as the API server accepts them, all in one namespace,
// as one tenant could create them. It must stay below its memory limit.
func (b *bench) hostile(ctx context.Context, r *rig, n int) error {
	limit, err := memoryLimit()
	if err != nil {
		return err
	}
	if err := r.createNamespaces(ctx, 1, true); err != nil {
		return err
	}
	o, err := r.startOperator(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d resources of the largest size", n)
	if err := b.createHostile(ctx, r, o, n, name+" created"); err != nil {
		return err
	}
	if err := b.addPeak(o, name+" are created", limit); err != nil {
		return err
	}
	if err := o.stop(); err != nil {
		return err
	}
	since, err := r.log.mark()
	if err != nil {
		return err
	}
	if o, err = r.startOperator(ctx); err != nil {
		return err
	}
	if err := o.awaitReconciles(ctx, n); err != nil {
		return err
	}
	requests, err := r.silent(ctx, since, o.user)
	if err != nil {
		return err
	}
	b.holdNothing(hostility, requests, "restart with "+name)
	return b.addPeak(o, "the operator restarts with "+name, limit)
}

// createHostile creates the Memcacheds and waits until the operator has answered all of them.
func (b *bench) createHostile(ctx context.Context, r *rig, o *operator, n int, name string) error {
	p, err := r.watchPhase(ctx, o)
	if err != nil {
		return err
	}
	defer p.end()
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	answered, err := r.tally(following, memcachedList(), hasStatus)
	if err != nil {
		return err
	}
	err = inParallel(n, func(i int) error { return r.k8s.Create(ctx, largest(namespaceOf(0), memcachedNumber(i).Name)) })
	if err != nil {
		return err
	}
	if _, err := answered.reach(ctx, n); err != nil {
		return fmt.Errorf("waiting for statuses: %w", err)
	}
	_, err = b.endPhase(ctx, p, hostility, name)
	return err
}

func (b *bench) addPeak(o *operator, while string, limit float64) error {
	u, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	b.report.hold(hostility, "peak memory while "+while, "MiB", u.peak, threshold{limit, false})
	return nil
}
