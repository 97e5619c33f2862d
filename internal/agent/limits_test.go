// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"net/http"
	"runtime"
	"testing"
)

// A host that opens connections and does nothing with them leaves room for others.
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
	last := idle[maxConnectionsPerHost]
	if n, err := last.Read(make([]byte, 1)); err == nil {
		t.Errorf("the last connection got %d bytes", n)
	}
	for _, conn := range idle {
		_ = conn.Close()
	}
	eventually(t, "readiness", func() bool {
		response, err := a.send(t, http.MethodGet, "/readyz", http.Header{})
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func TestLimitsOfTheListener(t *testing.T) {
	l := limit(nil)
	for i := range maxConnections {
		if host := string(rune('a' + i/maxConnectionsPerHost)); !l.admit(host) {
			t.Errorf("connection %d is refused", i)
		}
	}
	if l.admit("z") {
		t.Error("too many connections")
	}
	l.release("a")
	if !l.admit("z") || l.admit("z") {
		t.Error("a closed connection makes room for one")
	}
	l.release("z")
	if l.admit("b") {
		t.Error("too many connections of a host")
	}
	if _, found := l.hosts["z"]; found {
		t.Error("a host without connections is remembered")
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
