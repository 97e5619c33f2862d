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

// hostile measures what n Memcacheds of the largest size that the API server accepts cost the operator, all in one namespace,
// as one tenant could create them. The operator must stay below its memory limit.
func (b *bench) hostile(ctx context.Context, t *testbed, n int) error {
	limit, err := memoryLimit()
	if err != nil {
		return err
	}
	if err := t.createNamespaces(ctx, 1, true); err != nil {
		return err
	}
	o, err := t.startOperator(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d resources of the largest size", n)
	if err := b.createHostile(ctx, t, o, n, name+" created"); err != nil {
		return err
	}
	if err := b.addPeak(o, name+" are created", limit); err != nil {
		return err
	}
	if err := o.stop(); err != nil {
		return err
	}
	o, requests, err := t.restartOperator(ctx, n, 0)
	if err != nil {
		return err
	}
	b.addHostile(requests, "restart with "+name)
	children, _ := writesPerObject(requests)
	b.report.holdCount(hostility, "resources with a child write: restart with "+name, "resources", len(children), 0)
	return b.addPeak(o, "the operator restarts with "+name, limit)
}

// createHostile creates the Memcacheds and waits until the operator has written the status of each. It reads the audit log,
// because watches of such large objects would take CPU time from the operator.
func (b *bench) createHostile(ctx context.Context, t *testbed, o *replica, n int, name string) error {
	since, err := t.log.mark()
	if err != nil {
		return err
	}
	err = inParallel(n, func(i int) error {
		return t.k8s.Create(ctx, largest.Memcached(namespaceOf(0), memcachedNumber(i).Name))
	})
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		requests, err := t.log.since(since, o.user)
		_, statuses := writesPerObject(requests)
		return len(statuses) == n, err
	})
	if err != nil {
		return fmt.Errorf("waiting for statuses: %w", err)
	}
	requests, err := t.waitUntilQuiet(ctx, since, o.user)
	if err != nil {
		return err
	}
	b.addHostile(requests, name)
	return nil
}

// addHostile reports that no write may be rejected. The number of status writes depends on the duration: the pods of such a
// Memcached may stay pending forever, and its status reports for how long.
func (b *bench) addHostile(requests []request, name string) {
	c := count(requests)
	b.logf("%s: %d writes", name, c[accepted])
	b.report.Phases = append(b.report.Phases, phase{Metric: hostility, Name: name, Counts: c, NoOps: -1})
	b.report.holdCount(hostility, "rejected writes: "+name, "writes", c[rejected], 0)
}

func (b *bench) addPeak(o *replica, while string, limit float64) error {
	u, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	b.report.hold(hostility, "peak memory while "+while, "MiB", u.peak, threshold{limit, false})
	return nil
}
