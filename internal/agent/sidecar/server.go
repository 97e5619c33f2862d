// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/agent/server"
	"github.com/example/memcached-operator/internal/agent/stats"
)

// Limits of the HTTP server. They protect the agent, which has little memory, from clients that are slow or send too much.
const (
	maxConnections = 64
	headerTimeout  = 5 * time.Second
	maxHeaderBytes = 8 << 10
	// idleTimeout is longer than the usual scrape intervals, so that Prometheus can keep its connection.
	idleTimeout = 2 * time.Minute
	// sendTimeout is how long a client may take to read a response, in addition to the time that memcached may take to answer.
	sendTimeout = 10 * time.Second
)

func newServer(o Options, log *slog.Logger, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           server.RefuseBodies(handler),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      o.Timeout + sendTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelError),
	}
}

func newHandler(
	o Options, log *slog.Logger, version string, memcached *client, reloader *credentials.Reloader,
) http.Handler {
	readable := newTransitions(log, memcached.now, "The statistics of memcached cannot be read",
		"The statistics of memcached can be read")
	answers := newTransitions(log, memcached.now, "memcached does not answer", "memcached answers")
	mux := http.NewServeMux()
	families := stats.Families()
	if o.Proxy {
		families = stats.ProxyFamilies()
	}
	registry := newRegistry(newCollector(memcached, families, readable), version)
	if o.Parent != "" {
		registry.MustRegister(newParentGauges(o))
	}
	if o.Credentials.Enabled() {
		registry.MustRegister(newCredentialsGauges(reloader.Status))
	}
	mux.Handle("GET /metrics", newExposition(registry))
	mux.HandleFunc("GET /startupz", func(w http.ResponseWriter, _ *http.Request) {
		if status := reloader.Status(); !status.Started {
			http.Error(w, "memcached cannot start: "+status.Waiting, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		err := memcached.probe() //nolint:contextcheck // simultaneous requests share the probe, so none of them may end it
		answers.observe(err)
		if err != nil {
			http.Error(w, fmt.Sprintf("memcached at %s: %v", o.Memcached, err), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET "+protocol.StatusPath, newStatusHandler(reloader.Status, memcached))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}
