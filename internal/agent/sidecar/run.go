// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/server"
)

// shutdownTimeout is how long running requests may continue when the agent ends. It is short, because the end of the pod waits for the
// agent.
const shutdownTimeout = 2 * time.Second

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
	limited := newServer(o, log, newHandler(o, log, version, memcached, reloader))
	log.Info("Serving", "version", version, "listen", incoming.Addr().String(),
		"memcached", o.Memcached, "timeout", o.Timeout.String())

	reloaded, stopped := make(chan error, 1), make(chan error, 1)
	go func() { reloaded <- reloader.Run(ctx) }()
	go func() { stopped <- limited.Serve(server.Limit(incoming, maxConnections)) }()
	select {
	case err := <-stopped:
		return err
	case err := <-reloaded:
		return errors.Join(err, shutDown(ctx, limited, stopped))
	case <-ctx.Done():
		return errors.Join(shutDown(ctx, limited, stopped), <-reloaded)
	}
}

// shutDown stops the server. It waits at most shutdownTimeout for running requests.
func shutDown(ctx context.Context, server *http.Server, stopped <-chan error) error {
	// If ctx has already ended, a shutdown with ctx would end at once.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err := server.Close()
	if stop := <-stopped; !errors.Is(stop, http.ErrServerClosed) {
		return stop
	}
	return err
}
