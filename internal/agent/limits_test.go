// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"net/http"
	"runtime"
	"strconv"
	"testing"
)

// If an IP address has too many idle connections, the oldest one is closed. A new request from this address is still answered: it may
// be a probe of the kubelet, while pods with the kubelet's address hold the other connections.
func TestConnectionsOfAHostAreLimited(t *testing.T) {
	a := startAgent(t, newFake(t, recorded(t, "default")).options())
	var idle []net.Conn
	for range maxConnectionsPerHost + 1 {
		conn, err := a.dial(t)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		idle = append(idle, conn)
	}
	for range maxConnectionsPerHost + 1 {
		response, err := a.send(t, http.MethodGet, "/readyz", http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("the answer is %s", response.Status)
		}
	}
	if n, err := idle[0].Read(make([]byte, 1)); err == nil {
		t.Errorf("the oldest connection got %d bytes", n)
	}
}

func TestLimitsOfTheListener(t *testing.T) {
	l := limit(nil)
	from := func(host string) *limitedConn { return &limitedConn{listener: l, host: host} }
	mustAdmit := func(conn, superfluous *limitedConn) {
		t.Helper()
		if got := l.admit(conn); got != superfluous {
			t.Errorf("a connection of %s: closed is %+v, want %+v", conn.host, got, superfluous)
		}
	}
	var open []*limitedConn
	for i := range maxConnections {
		conn := from(string(rune('a' + i/maxConnectionsPerHost)))
		mustAdmit(conn, nil)
		open = append(open, conn)
	}
	mustAdmit(from("a"), open[0])
	l.forget(open[0])
	open[1].note(http.StateActive)
	mustAdmit(from("a"), open[2])
	open[1].note(http.StateIdle)
	mustAdmit(from("a"), open[1])
	for _, conn := range l.hosts["a"] {
		conn.note(http.StateActive)
	}
	refused := from("a")
	mustAdmit(refused, refused)
	l.forget(l.hosts["a"][0])
	mustAdmit(from("a"), nil)
	for i := maxConnectionsPerHost; i < maxConnections; i++ {
		l.forget(open[i])
	}
	if len(l.hosts) != 1 || l.total != maxConnectionsPerHost {
		t.Errorf("%d connections of %d hosts are remembered", l.total, len(l.hosts))
	}
}

// At maxConnections, a new connection replaces the oldest connection of the host with the most connections. If no host has more
// connections than the host of the new connection, the new connection is closed.
func TestManyHostsAreLimited(t *testing.T) {
	l := limit(nil)
	oldest := &limitedConn{listener: l, host: "greedy"}
	l.admit(oldest)
	l.admit(&limitedConn{listener: l, host: "greedy"})
	for i := range maxConnections - 2 {
		l.admit(&limitedConn{listener: l, host: strconv.Itoa(i)})
	}
	if got := l.admit(&limitedConn{listener: l, host: "kubelet"}); got != oldest {
		t.Errorf("%+v is closed, not the oldest connection of the greedy host", got)
	}
	another := &limitedConn{listener: l, host: "kubelet"}
	if got := l.admit(another); got != another {
		t.Errorf("%+v is closed, although no host has more", got)
	}
	if got := l.admit(&limitedConn{listener: l, host: "prometheus"}); got == nil || got.host == "prometheus" || l.total != maxConnections {
		t.Errorf("%+v is closed, and there are %d connections", got, l.total)
	}
}

func TestAThousandScrapesLeakNothing(t *testing.T) {
	good := recorded(t, "default")
	f := newFake(t, good)
	a := startAgent(t, f.options())
	a.mustScrape(t, "memcached_up 1")
	before := runtime.NumGoroutine()
	behaviors := []func(net.Conn){good, closesAfter(""), closesAfter("STAT pid 1\r\nSTAT"), always("nonsense\r\n"), refuses, always(unauthenticatedReply)}
	for i := range 1000 {
		f.behave(behaviors[i%len(behaviors)])
		a.get(t, "/metrics")
		if i%7 == 0 {
			f.hangUp()
		}
		if i%10 == 0 {
			a.get(t, "/readyz")
		}
	}
	f.behave(good)
	a.mustScrape(t, "memcached_up 1")
	eventually(t, "as few goroutines and connections as before", func() bool {
		open, _, _ := f.counts()
		return runtime.NumGoroutine() <= before && open == 1
	})
}
