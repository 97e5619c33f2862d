// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/stats"
)

// connection is a connection to memcached.
type connection struct {
	net.Conn

	replies *bufio.Reader
}

func connect(address string, deadline time.Time) (*connection, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, replies: stats.NewReader(conn)}, nil
}

// version succeeds if memcached answers.
func (c *connection) version(deadline time.Time) error {
	if err := c.ask(stats.VersionRequest, deadline); err != nil {
		return err
	}
	if err := stats.ReadVersion(c.replies); err != nil {
		return err
	}
	return c.nothingLeft()
}

// stats reads all statistics. With users, it logs in before, unless the connection is logged in already.
func (c *connection) stats(users []credentials.User, deadline time.Time) (*stats.Stats, error) {
	if len(users) > 0 {
		if err := c.SetDeadline(deadline); err != nil {
			return nil, err
		}
		if err := credentials.LogIn(c, c.replies, users); err != nil {
			return nil, err
		}
	}
	if err := c.ask(stats.Requests, deadline); err != nil {
		return nil, err
	}
	read, err := stats.Read(c.replies)
	if err != nil {
		return nil, err
	}
	return read, c.nothingLeft()
}

// ask sends requests, and sets the deadline of their replies.
func (c *connection) ask(requests string, deadline time.Time) error {
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	// A connection beyond the limit is refused unasked, and then closed: the reply may be there although the request fails. If
	// it is not, reading fails as well.
	_, _ = io.WriteString(c, requests)
	return nil
}

// nothingLeft checks that no more came than was asked for: it would be taken for the next reply.
func (c *connection) nothingLeft() error {
	if left := c.replies.Buffered(); left > 0 {
		return fmt.Errorf("%w: %d bytes too many", stats.ErrMalformed, left)
	}
	return nil
}

// discard closes a connection of which nothing is expected any more.
func (c *connection) discard() { _ = c.Close() }

// slot holds at most one connection that nobody uses.
type slot struct {
	mutex  sync.Mutex
	held   *connection
	closed bool
}

// take empties the slot.
func (s *slot) take() *connection {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	held := s.held
	s.held = nil
	return held
}

// put fills the slot, and closes the connection that was there.
func (s *slot) put(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	replaced := s.held
	s.held = c
	if s.closed {
		replaced, s.held = c, nil
	}
	if replaced != nil {
		replaced.discard()
	}
}

// giveBack fills the slot unless a newer connection is there.
func (s *slot) giveBack(c *connection) {
	if newer := s.take(); newer != nil {
		c.discard()
		c = newer
	}
	s.put(c)
}

// close closes the connection in the slot, and every one that is put there later.
func (s *slot) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	if s.held != nil {
		s.held.discard()
		s.held = nil
	}
}
