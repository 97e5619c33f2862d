// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/example/memcached-operator/internal/listener"
)

// If an IP address has too many idle connections, the oldest one is closed. A new request from this address is still answered. The request
// may be a probe of the kubelet, while pods that share the kubelet's IP address hold the other connections.
func TestConnectionsOfAHostAreLimited(t *testing.T) {
	a := startAgent(t, newFake(t, recorded(t, "default")).options())
	var idle []net.Conn
	for range listener.PerHost + 1 {
		conn, err := a.dial(t)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		idle = append(idle, conn)
	}
	for range listener.PerHost + 1 {
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
