// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// openPhase is a phase that has begun. A phase is a part of the benchmark in which requests are counted.
type openPhase struct {
	testbed  *testbed
	operator *replica
	mark     mark
	// sent is how many writes the operator had sent at the beginning, according to its own metrics.
	sent     float64
	usage    usage
	versions *versions
	// existing is how many object versions were recorded when one of the wait methods last returned.
	existing int
}

// beginPhase waits until nothing changes any more, and then starts to count. The caller must call versions.stop of the returned phase.
func (t *testbed) beginPhase(ctx context.Context, o *replica) *openPhase {
	p := &openPhase{testbed: t, operator: o, versions: t.trackVersions(ctx)}
	p.waitForVersions(ctx)
	p.sent = must(o.metrics.read(ctx)).sentWrites()
	p.usage = must(usageOf(o.Pid()))
	p.mark = must(t.log.mark())
	return p
}

// waitForVersions waits until nothing changes any more, and all existing objects have been seen.
func (p *openPhase) waitForVersions(ctx context.Context) {
	waitUntilStable(ctx, func() int {
		p.existing = must(p.versions.count())
		return p.existing
	})
}

// waitUntilQuiet waits for a quiet period: no write by the operator and no new object version. It returns the operator's requests.
func (p *openPhase) waitUntilQuiet(ctx context.Context) []request {
	var requests []request
	waitUntilStable(ctx, func() int {
		requests = must(p.testbed.log.since(p.mark, p.operator.user))
		p.existing = must(p.versions.count())
		return p.existing + writes(requests)
	})
	return requests
}

// waitUntilStable waits until a number has not changed for quietPeriod.
func waitUntilStable(ctx context.Context, number func() int) {
	const poll = 200 * time.Millisecond
	last, since := -1, time.Now()
	for {
		now := number()
		if now != last {
			last, since = now, time.Now()
		} else if time.Since(since) >= quietPeriod {
			return
		}
		check(pause(ctx, poll))
	}
}

// waitUntilQuiet waits until these users have written nothing for quietPeriod, and returns their requests since the mark.
func (t *testbed) waitUntilQuiet(ctx context.Context, since mark, users ...string) []request {
	var requests []request
	waitUntilStable(ctx, func() int {
		requests = must(t.log.since(since, users...))
		return writes(requests)
	})
	return requests
}

// endPhase waits until the operator is idle, reports its requests and returns them. The API server must accept every write, and every
// write must change something.
func (b *bench) endPhase(ctx context.Context, p *openPhase, m metric, name string) []request {
	existing := p.existing
	requests := p.waitUntilQuiet(ctx)
	noOps := updates(must(p.testbed.log.since(p.mark))) - (p.existing - existing)
	if noOps < 0 {
		check(fmt.Errorf("%s: there are %d more versions than writes in the audit log", name, -noOps))
	}
	sent := must(p.operator.metrics.read(ctx)).sentWrites() - p.sent
	c := count(requests)
	b.report.Phases = append(b.report.Phases, phase{Metric: m, Name: name, Counts: c, NoOps: noOps})
	b.report.holdCount(m, "rejected writes: "+name, "writes", c[rejected], 0)
	b.report.holdCount(m, "writes that change nothing: "+name, "writes", noOps, 0)
	if inLog := patches(requests); float64(inLog) != sent {
		check(fmt.Errorf("%s: the audit log has %d writes, but the operator counted %g", name, inLog, sent))
	}
	return requests
}

// updates returns the number of accepted writes that are not deletions. Each of them should create a new version of an object.
func updates(requests []request) int {
	return countIf(requests, func(r request) bool {
		return r.columnOf() == accepted && r.verb != "delete" && r.verb != "deletecollection"
	})
}

func writes(requests []request) int { return countIf(requests, request.isWrite) }

// patches returns the number of patches and deletions, including those of leases and events.
func patches(requests []request) int {
	return countIf(requests, func(r request) bool { return r.verb == "patch" || r.verb == "delete" })
}

func countIf(requests []request, matches func(request) bool) int {
	n := 0
	for _, r := range requests {
		if matches(r) {
			n++
		}
	}
	return n
}
