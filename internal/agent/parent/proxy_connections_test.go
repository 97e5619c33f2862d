// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

func TestProxyWithoutConnections(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conns := p.occupy()
	node, other := p.direct(0), p.direct(1)
	// The parent cannot connect to memcached any more, but its signal still makes memcached read the routes.
	p.lead(1)
	p.proxyStatus("the routes are being read", func(s protocol.ProxyStatus) bool { return s.Count == 1 })
	p.await("they are", func() error { return p.allAt(conns[0], node) }) // until then, some keys belong to the other node
	p.lead(2)
	p.await("the next ones are", func() error {
		for _, key := range keys(100) {
			if reply := p.set(conns[0], key, "y"); reply == "STORED" && p.read(other, key) == "y" {
				return nil
			}
		}
		return errors.New("the other node has no key")
	})
	if p.ready() != http.StatusOK {
		t.Error("the probe does not know that clients may have all connections")
	}
	for _, conn := range conns[1:] {
		_ = conn.Close()
	}
	p.leads(p.pattern + " 2\n")
	p.agrees(conns[0], 2)
}

// memcached reads new routes even if clients use all connections from the start.
func TestProxyStartsWithoutConnections(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	// With these times, clients connect before the parent asks memcached for the first time.
	p.proxy.settle, p.proxy.poll = time.Second, 2*time.Second
	for i := range 2 {
		p.startNode(i)
	}
	p.lead(2)
	p.startProxy()
	p.await("memcached answers", func() error { return answers(p.t.Context(), p.proxy.Memcached) })
	conns, node := p.occupy(), p.direct(0)
	p.lead(1)
	p.await("the next routes are read", func() error { return p.allAt(conns[0], node) })
}

// allAt stores keys through the proxy. It returns an error unless the node has all of them.
func (p *proxyPod) allAt(client, node *memcache.Conn) error {
	p.t.Helper()
	for _, key := range keys(100) {
		if reply := p.set(client, key, "x"); reply != "STORED" || p.read(node, key) != "x" {
			return errors.New(reply)
		}
	}
	return nil
}

// occupy connects until the proxy accepts no more clients.
func (p *proxyPod) occupy() (conns []*memcache.Conn) {
	p.t.Helper()
	for len(conns) < 1000 {
		conn, err := memcache.Dial(p.t.Context(), p.proxy.Memcached)
		must(p.t, err)
		p.t.Cleanup(func() { _ = conn.Close() })
		reply, err := conn.Command(p.t.Context(), "mn")
		if err != nil || strings.HasPrefix(reply, "ERROR") {
			break
		}
		conns = append(conns, conn)
	}
	if len(conns) < p.proxy.MaxConnections || len(conns) == 1000 {
		p.t.Fatalf("%d clients", len(conns))
	}
	return conns
}

// While clients use all connections, the proxy must still reach a node that returns with another address.
func TestNodeReplacedWithoutConnections(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.beginNamed(2)
	conns, pid, key := p.occupy(), p.pid(), missing(traffic.Ketama(p.names(2)), 1)
	p.kill(1)
	p.occupyMore()
	dns.change(func() { delete(dns.records, "node-1.shop.svc.cluster.test.") })
	p.await("the parent knows that it is away", func() error { return p.has("node-1.shop.svc is away") })
	p.occupyMore()
	p.startNode(7)
	p.at(dns, 1, 7)
	p.stores(conns[0], key)
	if p.pid() != pid {
		t.Error("memcached was replaced")
	}
}

// occupyMore connects again and again, to take connections that have become free.
func (p *proxyPod) occupyMore() {
	p.t.Helper()
	for range 50 {
		conn, err := memcache.Dial(p.t.Context(), p.proxy.Memcached)
		must(p.t, err)
		p.t.Cleanup(func() { _ = conn.Close() })
	}
}

// TestBoundFiles tests the limits that container runtimes usually set, and a proxy that needs more files than mostFiles.
func TestBoundFiles(t *testing.T) {
	for _, row := range []struct{ limit, atLeast, want uint64 }{
		{limit: 1 << 20, atLeast: 1100, want: mostFiles},
		{limit: 1073741816, atLeast: 1100, want: mostFiles},
		{limit: 20000, atLeast: 1100, want: 20000},
		{limit: 1 << 20, atLeast: 100000, want: 100000},
	} {
		got := boundFiles(unix.Rlimit{Cur: row.limit, Max: row.limit}, row.atLeast)
		if want := (unix.Rlimit{Cur: row.want, Max: row.want}); got != want {
			t.Errorf("%+v: %+v", row, got)
		}
	}
}
