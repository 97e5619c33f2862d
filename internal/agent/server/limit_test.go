// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

const maxConnections = 64

func TestHostLosesItsOldestConnection(t *testing.T) {
	l := limit(nil, maxConnections)
	var open []*limitedConn
	for range 2 * PerHost {
		conn := &limitedConn{listener: l, host: "kubelet"}
		oldest := l.admit(conn)
		if open = append(open, conn); len(open) <= PerHost && oldest != nil {
			t.Errorf("connection %d ends another one", len(open))
		} else if len(open) > PerHost && oldest != open[len(open)-PerHost-1] {
			t.Errorf("connection %d does not end the oldest one", len(open))
		}
	}
	for _, conn := range open {
		l.forget(conn)
	}
	if len(l.conns) != 0 {
		t.Errorf("%d connections are remembered", len(l.conns))
	}
}

func TestHostWithTheMostConnectionsLosesOne(t *testing.T) {
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
	if got := l.admit(&limitedConn{listener: l, host: "prometheus"}); got == nil || got.host == "prometheus" || len(l.conns) != maxConnections {
		t.Errorf("%+v is closed, and there are %d connections", got, len(l.conns))
	}
}

// Clients that announce a body and do not send it must not take the connections of a probe from the same address.
func TestProbeBesideUnfinishedBodies(t *testing.T) {
	server := httptest.NewUnstartedServer(RefuseBodies(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})))
	server.Listener = Limit(server.Listener, maxConnections)
	server.Config.ReadTimeout = time.Minute
	server.Start()
	defer server.Close()
	for _, header := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
		for range 2 * PerHost {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n"+header+"\r\n\r\n")
			reply, err := io.ReadAll(conn) // until the server closes the connection
			_ = conn.Close()
			if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 413 ") {
				t.Errorf("%s: %q, %v", header, reply, err)
			}
		}
		response, err := server.Client().Get(server.URL)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: the probe gets %v, %v", header, response, err)
		}
		_ = response.Body.Close()
	}
}
