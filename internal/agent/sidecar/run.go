// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/agent/server"
	"github.com/example/memcached-operator/internal/agent/stats"
)

// Run runs the agent with these command-line arguments until the context ends or an error occurs. The writer gets the log, or the
// help if the arguments ask for help.
func Run(ctx context.Context, args []string, version string, log io.Writer) error {
	options, err := parse(args, log)
	if err != nil {
		return err
	}
	incoming, err := (&net.ListenConfig{}).Listen(ctx, "tcp", options.Listen)
	if err != nil {
		return err
	}
	return serve(ctx, options, version, slog.New(slog.NewJSONHandler(log, nil)), incoming)
}

func serve(ctx context.Context, o Options, version string, log *slog.Logger, incoming net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	memcached := newClient(o)
	defer memcached.close()
	reloader := credentials.New(o.Credentials, o.Memcached, log)
	memcached.logins = reloader.Logins
	log.Info("Serving", "version", version, "listen", incoming.Addr().String(),
		"memcached", o.Memcached, "timeout", o.Timeout.String())

	reloaded := make(chan error, 1)
	go func() {
		defer cancel()
		reloaded <- reloader.Run(ctx)
	}()
	err := server.Serve(ctx, incoming, newHandler(o, log, version, memcached, reloader), slog.NewLogLogger(log.Handler(), slog.LevelError))
	cancel()
	return errors.Join(err, <-reloaded)
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
		var err error
		if status := reloader.Status(); !status.Started {
			err = errors.New("memcached cannot start: " + status.Waiting)
		}
		server.Answer(w, err)
	})
	mux.HandleFunc("GET "+protocol.ReadyPath, func(w http.ResponseWriter, _ *http.Request) {
		err := memcached.probe() //nolint:contextcheck // simultaneous requests share the probe, so none of them may end it
		answers.observe(err)
		if err != nil {
			err = fmt.Errorf("memcached at %s: %w", o.Memcached, err)
		}
		server.Answer(w, err)
	})
	mux.HandleFunc("GET "+protocol.StatusPath, newStatusHandler(reloader.Status, memcached))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { server.Answer(w, nil) })
	return mux
}
