// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/stats"
	"github.com/example/memcached-operator/internal/memcache"
)

var (
	errTimeout = errors.New("no answer")
	errClosed  = errors.New("memcached closed the connection")
)

// answerLifetime is how long probes succeed without asking memcached, once memcached has answered a probe. After a failure, the next
// probe always asks memcached.
const answerLifetime = time.Second

// client sends requests to memcached. Simultaneous scrapes share one read of the statistics. Simultaneous probes share one request.
type client struct {
	address string
	timeout time.Duration
	now     func() time.Time
	// logins returns the users as whom the client tries to log in. memcached should accept at least one of them. The result is empty if
	// memcached demands no login.
	logins func() []credentials.User
	// readStats reads the statistics of a node, or of a proxy if Options.Proxy is set.
	readStats func(ctx context.Context, conn *memcache.Conn) (statistics, error)

	// idle holds an open connection between requests, or nil.
	idle          atomic.Pointer[memcache.Conn]
	reads, probes singleflight.Group
	// answered is the time of memcached's last answer to a probe. It needs no lock, because only one probe runs at a time.
	answered time.Time
	// full is the Unix time at which memcached last refused the connection of a probe because of its connection limit, or 0.
	full atomic.Int64
}

// statistics are what memcached reports about itself. Collect sends the series of all valid values. If a value or a name is malformed,
// Collect also returns an error.
type statistics interface {
	Collect(series chan<- prometheus.Metric) error
}

func newClient(o Options) *client {
	c := &client{
		address: o.Memcached, timeout: o.Timeout, now: time.Now, logins: func() []credentials.User { return nil },
		readStats: func(ctx context.Context, conn *memcache.Conn) (statistics, error) { return stats.Read(ctx, conn) },
	}
	if o.Proxy {
		c.readStats = func(ctx context.Context, conn *memcache.Conn) (statistics, error) { return stats.ReadProxy(ctx, conn) }
	}
	return c
}

// stats reads the statistics within the timeout.
func (c *client) stats() (statistics, error) {
	shared, err, _ := c.reads.Do("", func() (any, error) { return c.read() })
	read, _ := shared.(statistics)
	return read, c.explain(err)
}

func (c *client) read() (statistics, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	if held := c.idle.Swap(nil); held != nil {
		read, err := c.readOver(ctx, held)
		if !isClosed(err) {
			return read, err
		}
		// memcached has closed the idle connection, because memcached restarted or because of its idle timeout.
	}
	fresh, err := memcache.Dial(ctx, c.address)
	if err != nil {
		return nil, err
	}
	return c.readOver(ctx, fresh)
}

func (c *client) readOver(ctx context.Context, conn *memcache.Conn) (statistics, error) {
	var read statistics
	err := credentials.LogIn(ctx, conn, c.logins())
	if err == nil {
		read, err = c.readStats(ctx, conn)
	}
	c.release(conn, err)
	return read, err
}

// release keeps a connection for the next request. If err is not nil, or if there is a newer connection, release closes it instead.
func (c *client) release(used *memcache.Conn, err error) {
	if err != nil || !c.idle.CompareAndSwap(nil, used) {
		discard(used)
	}
}

func discard(conn *memcache.Conn) {
	if conn != nil {
		_ = conn.Close()
	}
}

// probe succeeds if memcached answers within the timeout, or if memcached has answered a probe less than answerLifetime ago.
func (c *client) probe() error {
	_, err, _ := c.probes.Do("", func() (any, error) {
		if age := c.now().Sub(c.answered); age >= 0 && age < answerLifetime {
			return nil, nil
		}
		err := c.ask()
		if err == nil {
			c.answered = c.now()
		}
		return nil, err
	})
	return c.explain(err)
}

func (c *client) ask() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	fresh, err := memcache.Dial(ctx, c.address)
	if err != nil {
		return err
	}
	// A demand for a login is an answer too.
	if _, err = fresh.DemandsLogin(ctx); err == nil {
		discard(c.idle.Swap(fresh))
		return nil
	}
	discard(fresh)
	if errors.Is(err, memcache.ErrConnectionLimit) {
		c.full.Store(c.now().Unix())
		return c.askHeld(ctx)
	}
	return err
}

// askHeld sends a request over the idle connection, after memcached has refused a new connection. It fails if memcached does not answer
// properly: the worker threads may hang while the listener still refuses connections. Without an idle connection, or if memcached has
// closed it, askHeld succeeds: the refusal must then suffice as a sign that memcached runs.
func (c *client) askHeld(ctx context.Context) error {
	held := c.idle.Swap(nil)
	if held == nil {
		return nil
	}
	_, err := held.DemandsLogin(ctx)
	c.release(held, err)
	if isClosed(err) {
		return nil
	}
	return err
}

// wasFull reports whether memcached has refused the connection of a probe because of its connection limit, less than fullFor before
// now.
func (c *client) wasFull(now time.Time) bool { return now.Sub(time.Unix(c.full.Load(), 0)) < fullFor }

func (c *client) close() { discard(c.idle.Swap(nil)) }

// explain replaces an error by errClosed if memcached has closed the connection, and by an error that wraps errTimeout if memcached
// has not answered within the timeout. It returns any other error unchanged.
func (c *client) explain(err error) error {
	var network net.Error
	switch {
	case isClosed(err):
		return errClosed
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("%w within %s", errTimeout, c.timeout)
	default:
		return err
	}
}

// isClosed reports whether an error means that memcached has closed the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// reasons are the values of the label "reason" in memcached_agent_read_failures_total.
var reasons = []string{"closed", "connection_limit", "malformed", "timeout", "unauthenticated", "unreachable"}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, errClosed):
		return "closed"
	case errors.Is(err, memcache.ErrConnectionLimit):
		return "connection_limit"
	case errors.Is(err, memcache.ErrMalformed):
		return "malformed"
	case errors.Is(err, errTimeout):
		return "timeout"
	case errors.Is(err, memcache.ErrUnauthenticated):
		return "unauthenticated"
	default:
		return "unreachable"
	}
}
