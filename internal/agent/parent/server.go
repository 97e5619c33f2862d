// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/agent/server"
)

// view is what the HTTP server and the watch see. The goroutines of node.run, proxy.run and filler.run update it.
type view struct {
	mutex  sync.Mutex
	status protocol.Status
	// since is when a proxy's current number of nodes came into effect.
	since time.Time
	// serving is false while memcached stops or starts. The stop or the start must end before deadline, which is zero while memcached waits
	// for something else than itself.
	serving  bool
	deadline time.Time
	// reaches reports that a proxy has reached enough nodes to serve.
	reaches bool
}

func (v *view) update(change func(*view)) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	change(v)
}

// excuse records that memcached stops or starts, and must serve within this time. Zero means that this has no limit.
func (v *view) excuse(bound time.Duration) {
	v.update(func(v *view) {
		v.serving, v.deadline = false, time.Time{}
		if bound > 0 {
			v.deadline = time.Now().Add(bound)
		}
	})
}

// excused reports whether memcached may refuse connections now.
func (v *view) excused(now time.Time) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return !v.serving && (v.deadline.IsZero() || now.Before(v.deadline))
}

// unready returns why clients must not use memcached, or nil. Whether memcached answers, the sidecar finds out.
func (v *view) unready() error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if fill := v.status.Fill; fill.Open() && !fill.Ready {
		return fmt.Errorf("%w: %s, %d items from %s", errFilling, fill.State, fill.Items, fill.From)
	}
	if !v.serving {
		return errNotServing
	}
	if proxy := v.status.Proxy; proxy != nil && !v.reaches {
		return fmt.Errorf("%w: %s", errMissing, proxy.Missed)
	}
	return nil
}

var (
	errFilling    = errors.New("memcached is being filled")
	errNotServing = errors.New("memcached starts or stops")
	errMissing    = errors.New("memcached waits for nodes")
)

// MarshalJSON returns the status as JSON.
func (v *view) MarshalJSON() ([]byte, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	status := v.status
	if !status.Since.IsZero() {
		status.SecondsInEffect = int64(time.Since(status.Since).Seconds()) // the difference uses the monotonic clock
	}
	if status.Proxy != nil {
		proxy := *status.Proxy
		proxy.Seconds = time.Since(v.since).Seconds()
		status.Proxy = &proxy
	}
	return json.Marshal(status)
}

func (v *view) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET " + protocol.StatusPath:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client notices an error
	case "GET " + protocol.ReadyPath:
		server.Answer(w, v.unready())
	default:
		http.NotFound(w, r)
	}
}

// runBeside runs the HTTP server and the watch until the function run has returned. It returns the exit code of that function.
func runBeside(
	ctx context.Context, address string, v *view, w watch, log *log.Logger, run func(context.Context) (int, error),
) (int, error) {
	incoming, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, incoming, v, log) }()
	go safely(log, func() { w.run(ctx, v) })
	code, err := run(ctx)
	cancel()
	return code, errors.Join(err, <-served)
}

// safely logs a panic of the function. A panic of a goroutine would end the program, and memcached with it.
func safely(log *log.Logger, f func()) {
	defer func() {
		if mistake := recover(); mistake != nil {
			log.Printf("a mistake in this program: %v\n%s", mistake, debug.Stack())
		}
	}()
	f()
}
