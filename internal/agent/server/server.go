// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package server is the HTTP server of the agent. It limits what clients can take, because everybody who can reach the pod can connect, and
// the agent has little memory.
package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	maxConnections = 64
	maxHeaderBytes = 4 << 10
	// readTimeout is how long a client may take to send a request. writeTimeout is how long the answer and reading it may take.
	readTimeout, writeTimeout = 2 * time.Second, 10 * time.Second
)

// Serve answers requests until the context ends. net/http recovers from a panic of the handler. A connection serves one request.
func Serve(ctx context.Context, incoming net.Listener, handler http.Handler, errorLog *log.Logger) error {
	server := &http.Server{
		Handler:     refuseBodies(handler),
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: errorLog,
	}
	server.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(limit(incoming, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Answer answers a probe: 200, or 503 with the error.
func Answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// refuseBodies returns a handler that refuses requests with a body at once. Otherwise, net/http would wait for the body, and the
// connection would stay in use.
func refuseBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // an error changes nothing: the read timeout still ends the wait
		http.Error(w, "a request must not have a body", http.StatusRequestEntityTooLarge)
	})
}

// perHost is how many connections one IP address can have. The kubelet and each Prometheus server need only a few.
const perHost = 8

// limitedListener limits connections, so that nobody can open so many that the kubelet's probes fail. A host is an IP address. Pods
// with hostNetwork have the kubelet's address. So a new connection is never refused: at a limit, an older one ends.
//
//   - If a host has perHost connections, its new connection replaces its oldest one.
//   - If there are as many connections as the listener allows, a new connection replaces the oldest connection of the host with the
//     most connections.
type limitedListener struct {
	net.Listener

	max   int
	mutex sync.Mutex
	// conns are the open connections, the oldest first.
	conns []*limitedConn
}

func limit(listener net.Listener, connections int) *limitedListener {
	return &limitedListener{Listener: listener, max: connections}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(accepted.RemoteAddr().String())
	if err != nil {
		host = accepted.RemoteAddr().String()
	}
	conn := &limitedConn{Conn: accepted, listener: l, host: host}
	if oldest := l.admit(conn); oldest != nil {
		_ = oldest.Conn.Close() // an error changes nothing: the listener gives this connection up
	}
	return conn, nil
}

// admit counts a new connection. It returns the connection that must be closed because of a limit, or nil.
func (l *limitedListener) admit(conn *limitedConn) (oldest *limitedConn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts, most := map[string]int{}, conn.host
	for _, open := range l.conns {
		counts[open.host]++
	}
	if counts[conn.host] < perHost && len(l.conns) >= l.max {
		for host, count := range counts {
			if count > counts[most] {
				most = host
			}
		}
	}
	if counts[most] >= perHost || len(l.conns) >= l.max {
		oldest = l.conns[slices.IndexFunc(l.conns, func(open *limitedConn) bool { return open.host == most })]
		l.forget(oldest)
	}
	l.conns = append(l.conns, conn)
	return oldest
}

// forget stops counting a connection.
func (l *limitedListener) forget(conn *limitedConn) {
	if at := slices.Index(l.conns, conn); at >= 0 {
		l.conns = slices.Delete(l.conns, at, at+1)
	}
}

// limitedConn is a connection that a limitedListener counts until the connection is closed.
type limitedConn struct {
	net.Conn

	listener *limitedListener
	host     string
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.listener.mutex.Lock()
	c.listener.forget(c)
	c.listener.mutex.Unlock()
	return c.Conn.Close()
}
