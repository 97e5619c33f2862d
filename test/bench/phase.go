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
	rig      *rig
	operator *operator
	mark     mark
	// sent is the operator's own count of its writes at the beginning.
	sent     float64
	usage    usage
	versions *versions
	// existing is the number of versions at the beginning.
	existing int
	end      context.CancelFunc
}

// watchPhase begins to count, when the operator is ready and idle. The caller calls end.
func (r *rig) watchPhase(ctx context.Context, o *operator) (*openPhase, error) {
	p := &openPhase{rig: r, operator: o}
	following, cancel := context.WithCancel(ctx)
	p.end = cancel
	var err error
	if p.versions, err = r.versions(following); err != nil {
		cancel()
		return nil, err
	}
	err = p.begin(ctx)
	return p, err
}

func (p *openPhase) begin(ctx context.Context) error {
	if err := p.settleVersions(ctx); err != nil {
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
	p.mark, err = p.rig.log.mark()
	return err
}

// settleVersions waits until nothing changes any more, which includes that the watches have delivered what exists.
func (p *openPhase) settleVersions(ctx context.Context) error {
	return settle(ctx, func() (n int, err error) {
		p.existing, err = p.versions.count()
		return p.existing, err
	})
}

// settle waits until a number has stayed the same for some time.
func settle(ctx context.Context, number func() (int, error)) error {
	const poll = 200 * time.Millisecond
	last, since := -1, time.Now()
	for {
		now, err := number()
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		} else if time.Since(since) >= silence {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// silent waits until the users have written nothing for some time.
func (r *rig) silent(ctx context.Context, since mark, users ...string) ([]request, error) {
	var requests []request
	err := settle(ctx, func() (n int, err error) {
		requests, err = r.log.since(since, users...)
		c := count(requests)
		return c[accepted] + c[rejected], err
	})
	return requests, err
}

// endPhase waits until the operator has written all, adds its requests to the report and returns them.
func (b *bench) endPhase(ctx context.Context, p *openPhase, m metric, name string) ([]request, error) {
	requests, err := p.rig.silent(ctx, p.mark, p.operator.user)
	if err != nil {
		return nil, err
	}
	existing := p.existing
	if err := p.settleVersions(ctx); err != nil {
		return nil, err
	}
	all, err := p.rig.log.since(p.mark, p.rig.writers(p.mark)...)
	if err != nil {
		return nil, err
	}
	noOps := updates(all) - (p.existing - existing)
	if noOps < 0 {
		return nil, fmt.Errorf("%s: %d versions more than writes in the audit log", name, -noOps)
	}
	f, err := p.operator.metrics.read(ctx)
	if err != nil {
		return nil, err
	}
	c := count(requests)
	b.report.Phases = append(b.report.Phases, phase{Metric: m, Name: name, Counts: c, NoOps: noOps})
	exactlyNone := threshold{0, true}
	b.report.hold(m, "rejected writes: "+name, "writes", float64(c[rejected]), exactlyNone)
	b.report.hold(m, "writes that change nothing: "+name, "writes", float64(noOps), exactlyNone)
	if inLog, sent := patches(requests), f.sentWrites()-p.sent; float64(inLog) != sent {
		return nil, fmt.Errorf("%s: the audit log has %d writes, the operator counted %g", name, inLog, sent)
	}
	return requests, nil
}

// updates is the number of accepted writes that make a new version of an object unless they change nothing.
func updates(requests []request) int {
	n := 0
	for _, r := range requests {
		if r.columnOf() == accepted && r.verb != "delete" && r.verb != "deletecollection" {
			n++
		}
	}
	return n
}

// patches is the number of patches and deletions, of whatever.
func patches(requests []request) int {
	n := 0
	for _, r := range requests {
		if r.verb == "patch" || r.verb == "delete" {
			n++
		}
	}
	return n
}

// writers are the users that wrote anything after the mark.
func (r *rig) writers(since mark) []string {
	seen := map[string]bool{}
	var users []string
	for _, one := range r.log.requests[since:] {
		if !seen[one.user] {
			seen[one.user] = true
			users = append(users, one.user)
		}
	}
	return users
}
