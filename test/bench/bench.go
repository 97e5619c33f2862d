// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
)

// bench is a run of the benchmark.
type bench struct {
	options options
	out     io.Writer
	began   time.Time
	report  report
	// burst is that of the present round.
	burst burst
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.out, "[%6.1f s] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// wants says whether one of the metrics is to be measured.
func (b *bench) wants(wanted ...metric) bool {
	return slices.ContainsFunc(wanted, func(m metric) bool { return slices.Contains(b.options.only, m) })
}

// run measures all that is wanted. In each round, everything that is compared is measured once.
func (b *bench) run(ctx context.Context) error {
	if b.options.updated != "" && revision() == "" {
		return fmt.Errorf("%s does not say which commit it is of, and -update writes that: build it in a Git repository, "+
			"without -buildvcs=false in GOFLAGS", operatorBinary)
	}
	for range b.options.rounds {
		if err := b.round(ctx); err != nil {
			return err
		}
	}
	return b.once(ctx)
}

// once measures what is not compared.
func (b *bench) once(ctx context.Context) error {
	o := b.options
	for _, part := range []struct {
		wanted        bool
		what          string
		n             int
		apiServerOnly bool
		measure       func(context.Context, *rig, int) error
	}{
		{b.wants(restart, reaction, footprint), "M3, M6, M7 with %d Memcacheds", o.large, false, b.large},
		{b.wants(footprint), "M7 with %d Memcacheds", o.few, false, b.few},
		{b.wants(footprint), "M7 with %d pods and Deployments of others", o.foreign, true, b.foreign},
		{b.wants(manyNodes), "M10 with %d nodes", o.nodes, false, b.manyNodes},
		{b.wants(hostility), "M12 with %d Memcacheds", o.hostile, false, b.hostile},
	} {
		if !part.wanted {
			continue
		}
		b.say(part.what, part.n)
		err := b.onRig(ctx, part.apiServerOnly, func(r *rig) error { return part.measure(ctx, r, part.n) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) round(ctx context.Context) error {
	n := b.options.resources
	if err := b.endToEnd(ctx, n); err != nil {
		return err
	}
	if b.wants(readiness) {
		b.say("M9 with %d Memcacheds", b.options.paced)
		if err := b.onRig(ctx, false, func(r *rig) error { return b.becomeReady(ctx, r) }); err != nil {
			return err
		}
	}
	if !b.wants(throughput) {
		return nil
	}
	for _, n := range []int{n, b.options.more} {
		if n == 0 {
			continue
		}
		b.say("M4 with %d Memcacheds", n)
		if err := b.compareThroughput(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// life measures n Memcacheds from their creation on.
func (b *bench) life(ctx context.Context, r *rig, n int) error {
	o, err := b.converging(ctx, r, n)
	if err != nil {
		return err
	}
	deleted := 0
	if b.wants(operations) {
		if deleted, err = b.operate(ctx, r, o, n); err != nil {
			return err
		}
	}
	if b.wants(failover) {
		return b.failOver(ctx, r, o, deleted, n)
	}
	return nil
}

// onRig does something on a cluster of its own.
func (b *bench) onRig(ctx context.Context, apiServerOnly bool, do func(*rig) error) error {
	_, err := b.onNewRig(ctx, apiServerOnly, func(r *rig) (time.Duration, error) { return 0, do(r) })
	return err
}

// onNewRig measures a time on a cluster of its own. A component or an operator that ends by itself ends the measurement.
func (b *bench) onNewRig(
	ctx context.Context, apiServerOnly bool, measure func(*rig) (time.Duration, error),
) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.deadline(), errors.New("what is measured does not end"))
	defer cancel()
	r, err := newRig(ctx, apiServerOnly)
	if err != nil {
		return 0, err
	}
	b.describe(r)
	type outcome struct {
		took time.Duration
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		took, err := measure(r)
		done <- outcome{took, err}
	}()
	select {
	case o := <-done:
		return o.took, errors.Join(o.err, r.stop())
	case err := <-r.cluster.Failed():
		return 0, errors.Join(err, r.stop())
	case err := <-r.ended:
		return 0, errors.Join(err, r.stop())
	}
}

// describe fills in the conditions, at the first cluster.
func (b *bench) describe(r *rig) {
	c := &b.report.Conditions
	if c.CPUs > 0 {
		return
	}
	*c = conditions{
		Time: b.began.UTC(), CPUs: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Operator: revision(), Memory: memoryOfMachine(), Command: b.options.command, Rounds: b.options.rounds,
	}
	if k8s, err := discovery.NewDiscoveryClientForConfig(r.cluster.Config); err == nil {
		if version, err := k8s.ServerVersion(); err == nil {
			c.Kubernetes = version.GitVersion
		}
	}
}

// revision is the commit of the operator's binary; empty if it does not say.
func revision() string {
	info, err := buildinfo.ReadFile(operatorBinary)
	if err != nil {
		return ""
	}
	found := ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			found = setting.Value[:min(12, len(setting.Value))] + found
		case setting.Key == "vcs.modified" && setting.Value == "true":
			found += " with changes"
		}
	}
	return strings.TrimSpace(found)
}
