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

	"github.com/example/memcached-operator/test/operator"
)

type bench struct {
	options options
	out     io.Writer
	began   time.Time
	report  report
	// burst is the current round of M5: many Memcacheds that are created at once.
	burst burst
	// plain are the costs of Memcacheds with the smallest spec. The costs of Memcacheds with monitoring are compared with them.
	plain costs
}

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.out, "[%6.1f s] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) selected(wanted ...metric) bool {
	return slices.ContainsFunc(wanted, func(m metric) bool { return slices.Contains(b.options.only, m) })
}

// run measures all selected metrics, some in each round and the others once.
func (b *bench) run(ctx context.Context) error {
	if b.options.updated != "" && revision() == "" {
		return fmt.Errorf("%s does not contain the commit that it was built from, and -update publishes it: "+
			"build it in a Git repository, without -buildvcs=false in GOFLAGS", operator.Binary)
	}
	if b.selected(agents, security, proxying) {
		if err := findPrograms(); err != nil {
			return err
		}
	}
	b.describe()
	for range b.options.rounds {
		if err := b.round(ctx); err != nil {
			return err
		}
	}
	return b.once(ctx)
}

// once is the part of the benchmark that is not repeated in each round.
func (b *bench) once(ctx context.Context) error {
	o := b.options
	for _, part := range []struct {
		wanted        bool
		what          string
		n             int
		apiServerOnly bool
		measure       func(context.Context, *testbed, int)
	}{
		{b.selected(converge, operations, restart), "M1, M2, M3 with %d StatefulSets", o.statefulSets, false, b.statefulSets},
		{b.selected(restart, reaction, footprint), "M3, M6, M7 with %d Memcacheds", o.large, false, b.large},
		{b.selected(converge, operations, restart), "M1, M2, M3 with %d monitored Memcacheds", o.monitored, false, b.monitoring},
		{b.selected(operations), "M2 with %d Memcacheds with TLS and users", o.secured, false, b.rotate},
		{b.selected(footprint), "M7 with %d Memcacheds", o.few, false, b.few},
		{b.selected(footprint), "M7 with %d pods and Deployments of others", o.foreign, true, b.foreign},
		{b.selected(manyNodes), "M10 with %d nodes", o.nodes, false, b.manyNodes},
		{b.selected(hostility), "M12 with %d Memcacheds", o.hostile, false, b.hostile},
	} {
		if !part.wanted {
			continue
		}
		b.logf(part.what, part.n)
		err := b.onTestbed(ctx, part.apiServerOnly, func(ctx context.Context, t *testbed) { part.measure(ctx, t, part.n) })
		if err != nil {
			return err
		}
	}
	return b.onNodes(ctx)
}

// onNodes measures the metrics that need no cluster, only processes of memcached, agents and proxies.
func (b *bench) onNodes(ctx context.Context) error {
	for _, part := range []struct {
		metric  metric
		what    string
		measure func(context.Context) error
	}{
		{agents, fmt.Sprintf("M11 with %d connections", b.options.clients), b.besideMemcached},
		{security, fmt.Sprintf("M13 with %d requests", b.options.requests), b.compareAccesses},
		{proxying, fmt.Sprintf("M15 in %d rounds of %s", proxyRounds, proxyRound), b.compareProxies},
	} {
		if !b.selected(part.metric) {
			continue
		}
		b.logf("%s", part.what)
		if err := part.measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) round(ctx context.Context) error {
	if err := b.endToEnd(ctx, b.options.resources); err != nil {
		return err
	}
	if b.selected(readiness) {
		b.logf("M9 with %d Memcacheds", b.options.paced)
		if err := b.onTestbed(ctx, false, b.becomeReady); err != nil {
			return err
		}
	}
	if !b.selected(throughput) {
		return nil
	}
	b.logf("M4 with %d Memcacheds", b.options.many)
	return b.compareThroughput(ctx, b.options.many)
}

// lifecycle creates n Memcacheds, and measures the writes (M1) and the time (the operator's part of M5) until they are Ready. If M2 is
// selected, it measures the writes after each operation. If M8 is selected, it measures the time of a failover.
func (b *bench) lifecycle(ctx context.Context, t *testbed, n int) {
	o := b.converge(ctx, t, n)
	deleted := 0
	if b.selected(operations) {
		deleted = b.operate(ctx, t, o, n)
	}
	if b.selected(failover) {
		b.failOver(ctx, t, o, deleted, n)
	}
}

// onTestbed runs a measurement on a new testbed. It fails when a component of the cluster or an operator exits unexpectedly.
func (b *bench) onTestbed(ctx context.Context, apiServerOnly bool, measure func(context.Context, *testbed)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.deadline(), errors.New("the measurement takes too long"))
	defer cancel()
	t, err := newTestbed(ctx, apiServerOnly)
	if err != nil {
		return err
	}
	b.nameVersion(t)
	done := make(chan error, 1)
	go func() { done <- attempt(func() { measure(ctx, t) }) }()
	select {
	case err = <-done:
	case err = <-t.cluster.Failed():
	case err = <-t.exited:
	}
	return errors.Join(err, t.stop())
}

func (b *bench) describe() {
	b.report.Conditions = conditions{
		Time: b.began.UTC(), CPUs: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Operator: revision(), Memory: memoryOfMachine(), Command: b.options.command, Rounds: b.options.rounds,
	}
}

// nameVersion records the version of Kubernetes, unless an earlier testbed has done so.
func (b *bench) nameVersion(t *testbed) {
	c := &b.report.Conditions
	if c.Kubernetes != "" {
		return
	}
	if k8s, err := discovery.NewDiscoveryClientForConfig(t.cluster.Config); err == nil {
		if version, err := k8s.ServerVersion(); err == nil {
			c.Kubernetes = version.GitVersion
		}
	}
}

// revision returns the commit from which the operator's binary was built, or an empty string if the binary does not contain it.
func revision() string {
	info, err := buildinfo.ReadFile(operator.Binary)
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
