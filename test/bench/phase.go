// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// openPhase is a part of the benchmark in which requests are counted.
type openPhase struct {
	testbed  *testbed
	operator *replica
	mark     mark
	// sent is the operator's own count of its writes at the beginning.
	sent     float64
	usage    usage
	versions *versions
	// existing is the number of versions at the beginning.
	existing int
}

// beginPhase starts to count when the operator is ready and idle. The caller stops the versions.
func (t *testbed) beginPhase(ctx context.Context, o *replica) (*openPhase, error) {
	v, err := t.trackVersions(ctx)
	if err != nil {
		return nil, err
	}
	p := &openPhase{testbed: t, operator: o, versions: v}
	if err := p.begin(ctx); err != nil {
		v.stop()
		return nil, err
	}
	return p, nil
}

func (p *openPhase) begin(ctx context.Context) error {
	if err := p.waitForVersions(ctx); err != nil {
		return err
	}
	f, err := p.operator.metrics.read(ctx)
	if err != nil {
		return err
	}
	p.sent = f.sentWrites()
	if p.usage, err = usageOf(p.operator.Pid()); err != nil {
		return err
	}
	p.mark, err = p.testbed.log.mark()
	return err
}

// waitForVersions waits until nothing changes any more and the watches have delivered everything that exists.
func (p *openPhase) waitForVersions(ctx context.Context) error {
	return waitUntilStable(ctx, func() (n int, err error) {
		p.existing, err = p.versions.count()
		return p.existing, err
	})
}

// waitUntilStable waits until a number has stayed the same for the quiet period.
func waitUntilStable(ctx context.Context, number func() (int, error)) error {
	const poll = 200 * time.Millisecond
	last, since := -1, time.Now()
	for {
		now, err := number()
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		} else if time.Since(since) >= quietPeriod {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// waitUntilQuiet waits until the users have written nothing for the quiet period, and returns their requests.
func (t *testbed) waitUntilQuiet(ctx context.Context, since mark, users ...string) ([]request, error) {
	var requests []request
	err := waitUntilStable(ctx, func() (n int, err error) {
		requests, err = t.log.since(since, users...)
		c := count(requests)
		return c[accepted] + c[rejected], err
	})
	return requests, err
}

// endPhase waits until the operator is idle, adds its requests to the report and returns them.
func (b *bench) endPhase(ctx context.Context, p *openPhase, m metric, name string) ([]request, error) {
	requests, err := p.testbed.waitUntilQuiet(ctx, p.mark, p.operator.user)
	if err != nil {
		return nil, err
	}
	existing := p.existing
	if err := p.waitForVersions(ctx); err != nil {
		return nil, err
	}
	all, err := p.testbed.log.since(p.mark)
	if err != nil {
		return nil, err
	}
	noOps := updates(all) - (p.existing - existing)
	if noOps < 0 {
		return nil, fmt.Errorf("%s: there are %d more versions than writes in the audit log", name, -noOps)
	}
	f, err := p.operator.metrics.read(ctx)
	if err != nil {
		return nil, err
	}
	c := count(requests)
	b.report.Phases = append(b.report.Phases, phase{Metric: m, Name: name, Counts: c, NoOps: noOps})
	b.report.holdCount(m, "rejected writes: "+name, "writes", c[rejected], 0)
	b.report.holdCount(m, "writes that change nothing: "+name, "writes", noOps, 0)
	if inLog, sent := patches(requests), f.sentWrites()-p.sent; float64(inLog) != sent {
		return nil, fmt.Errorf("%s: the audit log has %d writes, but the operator counted %g", name, inLog, sent)
	}
	return requests, nil
}

// updates is the number of accepted writes that create a new version of an object, unless they change nothing.
func updates(requests []request) int {
	return countIf(requests, func(r request) bool {
		return r.columnOf() == accepted && r.verb != "delete" && r.verb != "deletecollection"
	})
}

// patches is the number of patches and deletions of any resource.
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
