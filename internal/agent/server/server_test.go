// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

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

// startServer starts a server that answers each request, and returns its address.
func startServer(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	incoming, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- Serve(ctx, incoming, handler, log.New(io.Discard, "", 0)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return incoming.Addr().String()
}

// send connects and sends this text.
func send(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(conn, text) // the server may have closed the connection
	return conn
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n"

// A client that takes all connections, announces bodies, sends half of a request or does not read fails no probe from its own address.
func TestProbeBesideAHostileClient(t *testing.T) {
	large := strings.Repeat("x", 8<<20) // more than the kernel keeps for a client that does not read
	address := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/probe" {
			Answer(w, nil)
			return
		}
		_, _ = io.WriteString(w, large)
	})
	var hostile net.Conn
	for name, text := range map[string]string{
		"it sends nothing":        "",
		"half of a request":       "GET / HTT",
		"a body that never comes": request + "Content-Length: 1000\r\n\r\n",
		"chunks that never come":  request + "Transfer-Encoding: chunked\r\n\r\n",
		"it does not read":        request + "\r\n",
		"pipelined requests":      strings.Repeat(request+"\r\n", 40),
	} {
		for range 2 * maxConnections {
			hostile = send(t, address, text)
		}
		if strings.Contains(name, "never") { // it is refused at once, without a wait for the body
			if reply, err := io.ReadAll(hostile); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 413 ") {
				t.Errorf("%s: %q, %v", name, reply, err)
			}
		}
		probe := send(t, address, "GET /probe HTTP/1.1\r\nHost: x\r\n\r\n")
		if reply, err := io.ReadAll(probe); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 200 ") {
			t.Errorf("%s: the probe gets %q, %v", name, reply, err)
		}
	}
}
