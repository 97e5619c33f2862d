// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/agent/server"
	"github.com/example/memcached-operator/internal/memcache"
)

// Limits of the HTTP server. It uses memory of memcached's container, and everybody who can reach the pod can connect to the server.
const (
	maxConnections = 32
	requestTimeout = 2 * time.Second
	maxHeaderBytes = 4 << 10
)

// view is what the HTTP server reports. The goroutines of node.run and filler.run update it.
type view struct {
	mutex  sync.Mutex
	status protocol.Status
	// serving is false while memcached stops or starts. The stop or the start must end before deadline.
	serving  bool
	deadline time.Time
}

func (v *view) update(change func(*view)) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	change(v)
}

// excused reports whether memcached may refuse connections now: it starts or stops, and the deadline has not passed.
func (v *view) excused(now time.Time) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return !v.serving && now.Before(v.deadline)
}

// unready returns an error while the node waits for the items of the twin (spec.fillFrom).
func (v *view) unready() error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if fill := v.status.Fill; fill.Open() {
		return fmt.Errorf("%w: %s, %d items from %s", errFilling, fill.State, fill.Items, fill.From)
	}
	return nil
}

// unready returns nil, because no items are copied into a proxy.
func (*proxyView) unready() error { return nil }

var errFilling = errors.New("memcached is being filled")

// MarshalJSON returns the status as JSON.
func (v *view) MarshalJSON() ([]byte, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	status := v.status
	if !status.Since.IsZero() {
		status.SecondsInEffect = int64(time.Since(status.Since).Seconds()) // the difference uses the monotonic clock
	}
	return json.Marshal(status)
}

// reporter is the status of a node or of a proxy.
type reporter interface {
	json.Marshaler
	excused(now time.Time) bool
	// unready returns an error if clients must not use memcached yet, although it answers.
	unready() error
}

// runBeside runs the HTTP server until the function run has returned. It returns the exit code of that function.
func runBeside(ctx context.Context, address, memcached string, v reporter, run func(context.Context) (int, error)) (int, error) {
	incoming, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, incoming, memcached, v) }()
	code, err := run(ctx)
	cancel()
	return code, errors.Join(err, <-served)
}

// serve runs the HTTP server until the context ends.
func serve(ctx context.Context, incoming net.Listener, memcached string, v reporter) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+protocol.StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client notices an error
	})
	mux.HandleFunc("GET "+protocol.ReadyPath, func(w http.ResponseWriter, r *http.Request) {
		err := answers(r.Context(), memcached)
		if err == nil {
			err = v.unready()
		}
		answer(w, err)
	})
	mux.HandleFunc("GET "+protocol.LivePath, func(w http.ResponseWriter, r *http.Request) {
		if v.excused(time.Now()) {
			answer(w, nil)
			return
		}
		answer(w, accepts(r.Context(), memcached))
	})
	limited := &http.Server{
		Handler:     server.RefuseBodies(http.TimeoutHandler(mux, requestTimeout, "memcached did not answer in time")),
		ReadTimeout: requestTimeout, WriteTimeout: 2 * requestTimeout, IdleTimeout: requestTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	limited.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = limited.Close() })
	defer stop()
	if err := limited.Serve(server.Limit(incoming, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// accepts returns nil if memcached accepts connections.
func accepts(ctx context.Context, address string) error {
	conn, err := memcache.Dial(ctx, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// answers returns nil if memcached answers. A refusal because clients use all connections counts as an answer.
func answers(ctx context.Context, address string) error {
	conn, err := memcache.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the answer counts
	if _, err := conn.DemandsLogin(ctx); err != nil && !errors.Is(err, memcache.ErrConnectionLimit) {
		return err
	}
	return nil
}
