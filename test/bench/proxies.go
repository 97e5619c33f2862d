// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/fill"
	"github.com/example/memcached-operator/test/traffic"
)

// M15 compares paths from clients to nodes. It measures each path in proxyRounds rounds. In a round, proxyClients clients send requests
// for the time proxyRound. They use proxyKeys keys, and values of proxyValue bytes.
const (
	proxyRounds  = 5
	proxyRound   = 5 * time.Second
	proxyClients = 16
	proxyKeys    = 10000
	proxyValue   = 100
	// fastestProxy exceeds the number of requests that any path serves in a second.
	fastestProxy = 500000
	// twinValue is the size, in bytes, of the values that an empty node copies from another node, its twin.
	twinValue = 1024
)

// path is a way in which clients reach the nodes: directly or through a proxy. Clients distribute the keys over hosts, which are nodes or
// a proxy. between is the process ID of the proxy, or 0 for none.
type path struct {
	name    string
	hosts   []string
	between int
	// missing is why the path cannot be measured, or empty if it can.
	missing string
}

// compareProxies sends the same requests on each path. It also measures how long an empty node takes to copy all items from another
// node, its twin.
func (b *bench) compareProxies(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.deadline(), errors.New("the measurement takes too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "bench-proxies-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the directory contains only logs and configuration
	l := &loopback{dir: dir, network: fmt.Sprintf("127.15.%d.", os.Getpid()%256)}
	err = attempt(func() { b.comparePaths(ctx, l.paths(ctx)) })
	for _, mebibytes := range []int{64, 1024} {
		if err = errors.Join(err, l.stop()); err == nil {
			b.logf("an empty node and a twin with %d MiB", mebibytes)
			err = attempt(func() { b.fillFromTwin(ctx, l, mebibytes) })
		}
	}
	return errors.Join(err, l.stop())
}

// The benchmark compares the paths usualProxy and nutcracker. Neither of the two quantities may be larger for usualProxy.
const (
	usualProxy, nutcracker = "proxy", "nutcracker"

	proxyCPU, proxyTail = "CPU for 100,000 requests", "99th percentile of a request"
)

// paths starts two pools, and the proxies in front of them. The proxy usualProxy has one thread, like nutcracker.
func (l *loopback) paths(ctx context.Context) []path {
	pod := must(podOf())
	direct := path{name: "direct"}
	for i := range size {
		l.node(ctx, 10+i, pod)
		l.node(ctx, 20+i, pod)
		direct.hosts = append(direct.hosts, l.host(10+i))
	}
	return []path{
		direct, l.proxy(ctx, usualProxy, 1, 0), l.proxy(ctx, "four-thread proxy", 2, 4), l.nutcracker(ctx, 3),
		l.proxy(ctx, "two-copy proxy", 4, 0, l.pattern(2)),
	}
}

func (b *bench) comparePaths(ctx context.Context, paths []path) {
	for round := range proxyRounds {
		b.logf("round %d of %d", round+1, proxyRounds)
		for _, p := range paths {
			b.addPath(p, p.sample(ctx))
		}
	}
	for _, quantity := range []string{proxyCPU, proxyTail} {
		b.report.holdLess(proxying, quantity, usualProxy, nutcracker)
	}
}

// pathSample is the result of one round on one path: what was served, and the CPU time and the memory (in MiB) of the proxy.
type pathSample struct {
	served   traffic.Served
	cpu      time.Duration
	resident float64
}

func (p path) sample(ctx context.Context) (s pathSample) {
	if p.missing != "" {
		return s
	}
	load := traffic.Load{
		Requests: fastestProxy * int(proxyRound/time.Second), Keys: proxyKeys, ValueSize: proxyValue, Seed: 1, Limit: proxyRound,
		Nodes: len(p.hosts), Owner: traffic.Ketama(p.hosts),
	}
	var conns []*traffic.Conn
	for range proxyClients {
		for _, host := range p.hosts {
			conns = append(conns, must(traffic.Connect(ctx, nil, addressOf(host))))
		}
	}
	check(load.Store(ctx, conns))
	before := p.usage()
	s.served = must(load.Run(ctx, conns))
	after := p.usage()
	for _, conn := range conns {
		check(conn.Close())
	}
	s.cpu, s.resident = after.cpu-before.cpu, after.resident
	return s
}

func (p path) usage() usage {
	if p.between == 0 {
		return usage{}
	}
	return must(usageOf(p.between))
}

// addPath reports the sample of one round on a path.
func (b *bench) addPath(p path, s pathSample) {
	add := func(what, unit string, value float64) *result {
		if p.missing != "" {
			value = 0
		}
		one := b.report.add(proxying, what+", "+p.name, unit, value)
		one.NotMeasured = p.missing
		return one
	}
	requests := float64(len(s.served.Latencies))
	add("requests per second", "requests", requests/s.served.Took.Seconds())
	add("median of a request", "ms", milliseconds(percentile(s.served.Latencies, 50))).Detail = true
	add(proxyTail, "ms", milliseconds(percentile(s.served.Latencies, 99)))
	if len(p.hosts) == 1 {
		add(proxyCPU, "s", s.cpu.Seconds()/requests*100000)
		add("memory of the proxy", "MiB", s.resident)
	}
	// The median of all rounds must be 0. A single round may have failed requests, because the machine may pause a process for longer
	// than a proxy waits.
	add("requests that fail or find nothing", "requests", float64(s.served.Failed)).AtMost = new(float64)
}

// fillFromTwin measures how long an empty node takes to copy all items of its twin. In a pod, the launcher, which starts memcached,
// copies them in the same way. Then fillFromTwin checks that each item is there.
func (b *bench) fillFromTwin(ctx context.Context, l *loopback, mebibytes int) {
	dumped := func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Dump = ptr.To(true) }
	pod := must(podOf(dumped, sizedFor(2*mebibytes, proxyKeys))) // twice the size of the items, so that none is evicted
	clients := map[*node]*traffic.Client{}
	twin, empty := l.node(ctx, 1, pod), l.node(ctx, 2, pod)
	for _, n := range []*node{twin, empty} {
		clients[n] = traffic.NewClient(must(traffic.NewRing(traffic.Server{Name: n.address, Address: n.address})), nil)
		clients[n].SetTimeout(stopGrace)
	}
	items := mebibytes * mebibyte / twinValue
	check(clients[twin].Write(ctx, items, twinValue))
	began := time.Now()
	copied := must(fill.Copy{Source: twin.address, Destination: empty.address}.Run(ctx))
	took := time.Since(began)
	found := must(clients[empty].Read(ctx, items))
	what := fmt.Sprintf(", %d MiB", mebibytes)
	b.report.add(proxying, "time to fill an empty node from its twin"+what, "s", took.Seconds())
	b.report.addDetail(proxying, "items copied from a twin"+what, "items", float64(copied.Items))
	b.report.holdCount(proxying, "items that a node filled from its twin does not have"+what, "items", items-found.Hits, 0)
}
