// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/fill"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

// How clients reach nodes, through one proxy or another.
const (
	proxyRounds  = 5
	proxyRound   = 5 * time.Second
	proxyClients = 16
	proxyKeys    = 10000
	proxyValue   = 100
	// fastestProxy is more than a second can have of their requests.
	fastestProxy = 500000
	// twinValue is the size of the values that an empty node gets from its twin.
	twinValue = 1024
)

// path is a way from clients to nodes.
type path struct {
	name string
	// hosts share the keys.
	hosts []string
	// pid is the process between, 0 for none.
	pid int
	// missing is why there is no such way.
	missing string
}

// compareProxies measures the same requests on each path, and how long an empty node needs for the items of its twin.
func (b *bench) compareProxies(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.deadline(), errors.New("the measurement takes too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "bench-proxies-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // logs and values of tests
	l := &loopback{dir: dir, network: fmt.Sprintf("127.15.%d.", os.Getpid()%256)}
	err = attempt(func() {
		paths := l.paths(ctx)
		for round := range proxyRounds {
			for _, p := range paths {
				b.logf("round %d, %s", round+1, p.name)
				b.addPath(p, p.sample(ctx))
			}
		}
		for _, quantity := range []string{proxyCPU, proxyTail} {
			b.report.holdLess(proxying, quantity, "one MemcachedProxy", "nutcracker")
		}
	})
	for _, mebibytes := range []int{64, 1024} {
		if err = errors.Join(err, l.stop()); err == nil {
			b.logf("an empty node and a twin with %d MiB", mebibytes)
			err = attempt(func() { b.fillFromTwin(ctx, l, mebibytes) })
		}
	}
	return errors.Join(err, l.stop())
}

// paths starts two pools and the proxies.
func (l *loopback) paths(ctx context.Context) []path {
	pod := must(podOf())
	direct := path{name: "direct"}
	for i := range size {
		l.node(ctx, 10+i, pod)
		l.node(ctx, 20+i, pod)
		direct.hosts = append(direct.hosts, l.host(10+i))
	}
	other := path{name: "nutcracker", hosts: []string{l.host(3)}}
	pid, installed := l.nutcracker(ctx, 3)
	if other.pid = pid; !installed {
		other.missing = "nutcracker is not installed"
	}
	return []path{
		direct, {name: "one MemcachedProxy", hosts: []string{l.host(1)}, pid: l.proxy(ctx, 1)}, other,
		{name: "a MemcachedProxy with two copies", hosts: []string{l.host(2)}, pid: l.proxy(ctx, 2, 2)},
	}
}

// pathSample is what a path served.
type pathSample struct {
	served traffic.Served
	// cpu is the time of the process between for these requests, and resident its memory in MiB.
	cpu      time.Duration
	resident float64
}

func (p path) sample(ctx context.Context) (s pathSample) {
	if p.missing != "" {
		return s
	}
	load := traffic.Load{
		Requests: fastestProxy * int(proxyRound/time.Second), Keys: proxyKeys, ValueSize: proxyValue, Seed: 1, Limit: proxyRound,
		Nodes: len(p.hosts), Owner: memcache.Ketama(p.hosts),
	}
	var conns []*traffic.Conn
	for range proxyClients {
		for _, host := range p.hosts {
			conns = append(conns, must(traffic.Connect(ctx, nil, addressOf(host))))
		}
	}
	check(load.Store(ctx, conns))
	var before, after usage
	if p.pid > 0 {
		before = must(usageOf(p.pid))
	}
	s.served = must(load.Run(ctx, conns))
	if p.pid > 0 {
		after = must(usageOf(p.pid))
	}
	for _, conn := range conns {
		check(conn.Close())
	}
	s.cpu, s.resident = after.cpu-before.cpu, after.resident
	return s
}

// Quantities that are compared.
const (
	proxyCPU  = "CPU of the proxy for 100,000 requests"
	proxyTail = "99th percentile of a request"
)

// addPath reports a round of a path.
func (b *bench) addPath(p path, s pathSample) {
	requests, way := float64(len(s.served.Latencies)), ", "+p.name
	for _, row := range []struct {
		what, unit string
		value      func() float64
		proxy      bool
	}{
		{"requests per second", "requests", func() float64 { return requests / s.served.Took.Seconds() }, false},
		{"median of a request", "ms", func() float64 { return milliseconds(percentile(s.served.Latencies, 50)) }, false},
		{proxyTail, "ms", func() float64 { return milliseconds(percentile(s.served.Latencies, 99)) }, false},
		{proxyCPU, "s", func() float64 { return s.cpu.Seconds() / requests * 100000 }, true},
		{"memory of the proxy", "MiB", func() float64 { return s.resident }, true},
	} {
		switch {
		case row.proxy && len(p.hosts) > 1:
		case p.missing != "":
			b.report.add(proxying, row.what+way, row.unit, 0).NotMeasured = p.missing
		default:
			b.report.add(proxying, row.what+way, row.unit, row.value())
		}
	}
	b.report.holdCount(proxying, "requests that fail or find nothing"+way, "requests", s.served.Failed, 0)
}

// fillFromTwin copies items as the launcher does, and looks for each of them.
func (b *bench) fillFromTwin(ctx context.Context, l *loopback, mebibytes int) {
	dumped := func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Dump = ptr.To(true) }
	pod := must(podOf(dumped, sizedFor(2*mebibytes, proxyKeys))) // nothing is evicted
	twin, empty := l.node(ctx, 1, pod), l.node(ctx, 2, pod)
	items := mebibytes * mebibyte / twinValue
	check(clientOf(twin).Write(ctx, items, twinValue))
	began := time.Now()
	copied := must(fill.Copy{Source: twin.address, Destination: empty.address}.Run(ctx))
	took := time.Since(began)
	found := must(clientOf(empty).Read(ctx, items))
	what := fmt.Sprintf(", %d MiB of items", mebibytes)
	b.report.add(proxying, "time to fill an empty node from its twin"+what, "s", took.Seconds())
	b.report.addDetail(proxying, "items copied from a twin"+what, "items", float64(copied.Items))
	b.report.holdCount(proxying, "items of its twin that a filled node does not have"+what, "items", items-found.Hits, 0)
}

// clientOf is a patient client of one node.
func clientOf(n *node) *traffic.Client {
	client := traffic.NewClient(must(traffic.NewRing(traffic.Server{Name: filepath.Base(n.dir), Address: n.address})), nil)
	client.SetTimeout(stopGrace)
	return client
}
