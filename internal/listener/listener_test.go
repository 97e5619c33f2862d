// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"net/http"
	"strconv"
	"testing"
)

const maxConnections = 64

func TestLimitsOfTheListener(t *testing.T) {
	l := limit(nil, maxConnections)
	from := func(host string) *limitedConn { return &limitedConn{listener: l, host: host} }
	mustAdmit := func(conn, superfluous *limitedConn) {
		t.Helper()
		if got := l.admit(conn); got != superfluous {
			t.Errorf("a connection of %s: closed is %+v, want %+v", conn.host, got, superfluous)
		}
	}
	var open []*limitedConn
	for i := range maxConnections {
		conn := from(string(rune('a' + i/PerHost)))
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
	for i := PerHost; i < maxConnections; i++ {
		l.forget(open[i])
	}
	if len(l.hosts) != 1 || l.total != PerHost {
		t.Errorf("%d connections of %d hosts are remembered", l.total, len(l.hosts))
	}
}

// At maxConnections, a new connection replaces the oldest connection of the host with the most connections. If no host has more
// connections than the host of the new connection, the new connection is closed.
func TestManyHostsAreLimited(t *testing.T) {
	l := limit(nil, maxConnections)
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
