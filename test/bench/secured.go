// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// The requests of measurement M13 (docs/benchmarks.md), with values of securedValue bytes. All values fit into the item memory.
const (
	securedConnections = 32
	securedKeys        = 10000
	securedValue       = 1000
	// requestsPerConnection is the number of requests divided by the number of new connections, which are opened after the requests.
	requestsPerConnection = 100
)

// access is a way in which clients connect to a node, and the change of the spec that enables it.
type access struct {
	name   string
	change func(*cachev1alpha1.Memcached)
}

var accesses = []access{
	{"without TLS", func(*cachev1alpha1.Memcached) {}},
	{"TLS", withTLS},
	{"mutual TLS", withMutualTLS},
	{"TLS and users", func(mc *cachev1alpha1.Memcached) {
		withTLS(mc)
		withUsers(mc)
	}},
}

func withTLS(mc *cachev1alpha1.Memcached) {
	mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: certificateOf(mc)}
}

func withMutualTLS(mc *cachev1alpha1.Memcached) {
	withTLS(mc)
	mc.Spec.TLS.ClientAuth = cachev1alpha1.ClientAuthRequire
}

func withUsers(mc *cachev1alpha1.Memcached) {
	mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: usersOf(mc)}
}

func certificateOf(mc *cachev1alpha1.Memcached) string { return mc.Name + "-tls" }
func usersOf(mc *cachev1alpha1.Memcached) string       { return mc.Name + "-users" }

// compareAccesses measures M13: what TLS and users cost a node and its clients. It sends the same requests with each access.
func (b *bench) compareAccesses(ctx context.Context) error {
	issued, err := issue()
	if err != nil {
		return err
	}
	for _, a := range accesses {
		pod, err := podOf(a.change)
		if err != nil {
			return err
		}
		c, err := issued.clientOf(memcachedNumber(0, a.change))
		if err != nil {
			return err
		}
		err = onNode(ctx, b.options.deadline(), pod, issued.files(), func(ctx context.Context, n *node) {
			s := n.sampleAccess(ctx, c, b.options.requests)
			b.logf("%s: %d requests in %.1f s", a.name, len(s.served.Latencies), s.served.Took.Seconds())
			b.addAccess(a.name, s)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// accessSample is the result of the requests and new connections with one access.
type accessSample struct {
	served traffic.Served
	// serving is memcached's CPU time for the requests.
	serving time.Duration
	// opened is how many new connections were opened, and opening is how long that took. accepting is memcached's CPU time for them.
	opened             int
	opening, accepting time.Duration
}

// sampleAccess sends requests to a new memcached, and then opens new connections.
func (n *node) sampleAccess(ctx context.Context, c nodeClient, requests int) accessSample {
	n.untilListening(ctx)
	load := traffic.Load{Requests: requests, Keys: securedKeys, ValueSize: securedValue, Seed: 1}
	conns := make([]*traffic.Conn, securedConnections)
	for i := range conns {
		conns[i] = must(c.connect(ctx, n.address))
	}
	check(load.Store(ctx, conns))
	before := must(usageOf(n.Pid()))
	s := accessSample{served: must(load.Run(ctx, conns)), opened: max(1, requests/requestsPerConnection)}
	served := must(usageOf(n.Pid()))
	for _, conn := range conns {
		check(conn.Close())
	}
	began := time.Now()
	check(inParallel(s.opened, func(int) error {
		conn, err := c.connect(ctx, n.address)
		if err != nil {
			return err
		}
		return conn.Close()
	}))
	s.opening = time.Since(began)
	s.serving, s.accepting = served.cpu-before.cpu, must(usageOf(n.Pid())).cpu-served.cpu
	return s
}

// addAccess reports the sample of an access.
func (b *bench) addAccess(way string, s accessSample) {
	requests := len(s.served.Latencies)
	each := func(cpu time.Duration, n int) float64 { return float64(cpu.Microseconds()) / float64(n) }
	way = ", " + way
	b.report.add(security, "requests per second"+way, "requests", float64(requests)/s.served.Took.Seconds())
	b.report.addDetail(security, "a request"+way+", p50", "ms", milliseconds(percentile(s.served.Latencies, 50)))
	b.report.add(security, "99th percentile of a request"+way, "ms", milliseconds(percentile(s.served.Latencies, 99)))
	b.report.add(security, "CPU of memcached for a request"+way, "µs", each(s.serving, requests))
	b.report.holdCount(security, "requests that fail or find nothing"+way, "requests", s.served.Failed, 0)
	b.report.addDetail(security, "new connections per second"+way, "connections", float64(s.opened)/s.opening.Seconds())
	b.report.add(security, "CPU of memcached for a new connection"+way, "µs", each(s.accepting, s.opened))
}
