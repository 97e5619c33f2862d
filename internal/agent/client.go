// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/stats"
)

var (
	errTimeout = errors.New("no answer")
	errClosed  = errors.New("memcached closed the connection")
)

// answerLifetime is how long an answer counts for further probes. However many clients ask for readiness, memcached gets
// at most one connection a second for it. Failures are forgotten at once.
const answerLifetime = time.Second

// client asks memcached. Simultaneous questions of one kind share an answer. See the package comment for its connections.
type client struct {
	address string
	timeout time.Duration
	now     func() time.Time
	// logins returns users as one of which the client reads statistics, none if memcached demands no login.
	logins func() []credentials.User

	// idle holds the connection for the next question.
	idle          slot
	reads, probes singleflight.Group
	// answered is when memcached last answered a probe. Only a probe uses it, and there is one at a time.
	answered time.Time
}

func newClient(o Options) *client {
	return &client{address: o.Memcached, timeout: o.Timeout, now: time.Now, logins: func() []credentials.User { return nil }}
}

// stats reads all statistics within the timeout.
func (c *client) stats() (*stats.Stats, error) {
	shared, err, _ := c.reads.Do("", func() (any, error) { return c.read() })
	read, _ := shared.(*stats.Stats)
	return read, c.explain(err)
}

func (c *client) read() (*stats.Stats, error) {
	deadline := time.Now().Add(c.timeout)
	if held := c.idle.take(); held != nil {
		read, err := held.stats(c.logins(), deadline)
		if !isClosed(err) {
			c.release(held, err)
			return read, err
		}
		// memcached may have closed it long ago, because it restarted or because of its idle timeout.
		held.discard()
	}
	fresh, err := connect(c.address, deadline)
	if err != nil {
		return nil, err
	}
	read, err := fresh.stats(c.logins(), deadline)
	c.release(fresh, err)
	return read, err
}

// release gives a connection back, or closes it after an error.
func (c *client) release(used *connection, err error) {
	if err != nil {
		used.discard()
		return
	}
	c.idle.giveBack(used)
}

// probe succeeds if memcached answers within the timeout.
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
	deadline := time.Now().Add(c.timeout)
	fresh, err := connect(c.address, deadline)
	if err != nil {
		return err
	}
	err = fresh.version(deadline)
	if err == nil {
		c.idle.put(fresh)
		return nil
	}
	fresh.discard()
	if errors.Is(err, stats.ErrConnectionLimit) {
		return c.askHeld(deadline)
	}
	return err
}

// askHeld asks over the connection in the slot. That there is none, or that memcached has closed it, is no failure.
func (c *client) askHeld(deadline time.Time) error {
	held := c.idle.take()
	if held == nil {
		return nil
	}
	err := held.version(deadline)
	c.release(held, err)
	if isClosed(err) {
		return nil
	}
	return err
}

func (c *client) close() { c.idle.close() }

// explain makes an error readable, and comparable with errTimeout and errClosed.
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

// isClosed reports whether an error means that memcached has closed a connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// reasons are those of memcached_agent_read_failures_total.
var reasons = []string{"closed", "connection_limit", "malformed", "timeout", "unauthenticated", "unreachable"}

// reasonOf is the reason why memcached could not be read.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, errClosed):
		return "closed"
	case errors.Is(err, stats.ErrConnectionLimit):
		return "connection_limit"
	case errors.Is(err, stats.ErrMalformed):
		return "malformed"
	case errors.Is(err, errTimeout):
		return "timeout"
	case errors.Is(err, stats.ErrUnauthenticated):
		return "unauthenticated"
	default:
		return "unreachable"
	}
}
