// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/example/memcached-operator/test/largest"
)

// hostile is M12: it measures the requests and the memory of an operator with n Memcacheds of the largest spec that the API server
// accepts. A single tenant could create them in one namespace. The operator must stay below its memory limit.
func (b *bench) hostile(ctx context.Context, t *testbed, n int) {
	limit := must(memoryLimit())
	t.createNamespaces(ctx, 1, true)
	o := t.startOperator(ctx)
	name := fmt.Sprintf("%d resources of the largest size", n)
	b.createHostile(ctx, t, o, n, name+" created")
	b.addPeak(o, name+" are created", limit)
	check(o.stop())
	o, requests := t.restartOperator(ctx, n, 0)
	b.addHostile(requests, "restart with "+name)
	children, _ := writesPerObject(requests)
	b.report.holdCount(hostility, "resources with a child write: restart with "+name, "resources", len(children), 0)
	b.addPeak(o, "the operator restarts with "+name, limit)
}

// createHostile creates the Memcacheds, and waits until the operator has written the status of each. It reads the audit log instead
// of watching, because watches of such large objects would slow down the operator.
func (b *bench) createHostile(ctx context.Context, t *testbed, o *replica, n int, name string) {
	since := must(t.log.mark())
	check(inParallel(n, func(i int) error {
		return t.k8s.Create(ctx, largest.Memcached(namespaceOf(0), memcachedNumber(i).Name))
	}))
	during("waiting for statuses", func() {
		for written := 0; written < n; {
			check(pause(ctx, time.Second))
			_, statuses := writesPerObject(must(t.log.since(since, o.user)))
			written = len(statuses)
		}
	})
	b.addHostile(t.waitUntilQuiet(ctx, since, o.user), name)
}

// addHostile reports the requests of a phase in which no write may be rejected. The number of status writes has no limit.
func (b *bench) addHostile(requests []request, name string) {
	c := count(requests)
	b.logf("%s: %d writes", name, c[accepted])
	b.report.Phases = append(b.report.Phases, phase{Metric: hostility, Name: name, Counts: c, NoOps: -1})
	b.report.holdCount(hostility, "rejected writes: "+name, "writes", c[rejected], 0)
}

func (b *bench) addPeak(o *replica, while string, limit float64) {
	b.report.hold(hostility, "peak memory while "+while, "MiB", must(usageOf(o.Pid())).peak, threshold{limit, false})
}
