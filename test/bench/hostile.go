// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/test/largest"
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
	b.addHostile(requests, "restart with "+name)
	children, _ := writesPerObject(requests)
	b.report.hold(hostility, "resources with a child write: restart with "+name, "resources", float64(len(children)), threshold{0, true})
	return b.addPeak(o, "the operator restarts with "+name, limit)
}

// createHostile creates the Memcacheds and waits until the operator has answered all of them. The audit log tells: watches of
// such objects would take the machine's time.
func (b *bench) createHostile(ctx context.Context, r *rig, o *operator, n int, name string) error {
	since, err := r.log.mark()
	if err != nil {
		return err
	}
	err = inParallel(n, func(i int) error {
		return r.k8s.Create(ctx, largest.Memcached(namespaceOf(0), memcachedNumber(i).Name))
	})
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		requests, err := r.log.since(since, o.user)
		_, statuses := writesPerObject(requests)
		return len(statuses) == n, err
	})
	if err != nil {
		return fmt.Errorf("waiting for statuses: %w", err)
	}
	requests, err := r.silent(ctx, since, o.user)
	if err != nil {
		return err
	}
	b.addHostile(requests, name)
	return nil
}

// addHostile adds to the report that no writes may be rejected. How many there are of statuses depends on the time: the pods of
// such a Memcached may wait for ever, and its status tells for how long they have.
func (b *bench) addHostile(requests []request, name string) {
	c := count(requests)
	b.say("%s: %d writes", name, c[accepted])
	b.report.Phases = append(b.report.Phases, phase{Metric: hostility, Name: name, Counts: c, NoOps: -1})
	b.report.hold(hostility, "rejected writes: "+name, "writes", float64(c[rejected]), threshold{0, true})
}

func (b *bench) addPeak(o *operator, while string, limit float64) error {
	u, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	b.report.hold(hostility, "peak memory while "+while, "MiB", u.peak, threshold{limit, false})
	return nil
}
