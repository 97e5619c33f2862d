// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"strings"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

// starvation is how long a thread's buffers may be full until the parent restarts memcached. memcached limits the unread answers of
// each thread, and not of each connection: a single client that does not read costs all clients of its thread their answers.
const starvation = 10 * time.Second

// watchBuffers restarts memcached when the buffers of a thread have been full for options.starvation. A proxy stores nothing, so the
// restart costs its clients no more than a new connection. Routes that wait for DNS come first: after a restart, nothing would serve.
func (p *proxy) watchBuffers(ctx context.Context, now time.Time) error {
	switch full, err := p.options.starves(ctx); {
	case err != nil:
		return nil //nolint:nilerr // the probes judge a memcached that does not answer
	case !full:
		p.starved = time.Time{}
		return nil
	case p.starved.IsZero():
		p.starved = now
	}
	if now.Sub(p.starved) < p.options.starvation || p.read.String() != p.routes.String() {
		return nil
	}
	p.log.Printf("restarting memcached: for %s, a client has not read its answers, and others of its thread got none", p.options.starvation)
	p.starved = time.Time{}
	p.view.update(func(v *view) {
		v.status.Proxy.Reloading = true
		v.status.Proxy.BufferRestarts++
	})
	p.stop()
	return p.begin(ctx)
}

// starves reports whether a thread of memcached has no memory for answers.
func (o ProxyOptions) starves(ctx context.Context) (full bool, err error) {
	var used int64
	err = ask(ctx, o.Memcached, protocol.List{}, func(ctx context.Context, conn *memcache.Conn) error {
		stats, err := conn.Stats(ctx, "proxy")
		used = number(stats, "buffer_memory_used") // of all threads together
		return err
	})
	if err != nil || used < buffersPerThread*1024 {
		return false, err
	}
	for range 3 * o.Threads { // memcached gives each thread the next connection in turn, and others connect as well
		full = full || o.refusesValues(ctx)
	}
	return full, nil
}

// refusesValues reports whether the thread of a new connection has no memory for a value. The key is too long for any node, so a thread
// that has memory refuses the request by itself (see is_refused in copies.lua).
func (o ProxyOptions) refusesValues(ctx context.Context) bool {
	var reply string
	err := ask(ctx, o.Memcached, protocol.List{}, func(ctx context.Context, conn *memcache.Conn) (err error) {
		reply, err = conn.Command(ctx, "set "+strings.Repeat("k", longestKey+1)+" 0 0 1\r\nx")
		return err
	})
	return err == nil && strings.HasPrefix(reply, "SERVER_ERROR out of memory")
}

// longestKey is the length of the longest key, in bytes (KEY_MAX_LENGTH in memcached.h of 1.6.45).
const longestKey = 250

// stop ends memcached, and returns its exit status.
func (p *proxy) stop() syscall.WaitStatus {
	p.view.excuse(patience(protocol.List{}))
	_ = p.process.signal(syscall.SIGTERM) // its exit status is read below
	select {
	case status := <-p.process.ended:
		return status
	case <-time.After(patience(protocol.List{})):
		_ = p.process.signal(syscall.SIGKILL)
		return <-p.process.ended
	}
}
