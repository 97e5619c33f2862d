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
