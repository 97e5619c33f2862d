// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"sync"

	"github.com/example/memcached-operator/internal/memcache"
)

// slot holds one idle connection, or none.
type slot struct {
	mutex  sync.Mutex
	held   *memcache.Conn
	closed bool
}

// take empties the slot. It returns the connection that was in the slot, or nil.
func (s *slot) take() *memcache.Conn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	held := s.held
	s.held = nil
	return held
}

// put stores a connection. It closes the connection that was in the slot.
func (s *slot) put(c *memcache.Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	replaced := s.held
	s.held = c
	if s.closed {
		replaced, s.held = c, nil
	}
	if replaced != nil {
		discard(replaced)
	}
}

// giveBack puts a connection back that was taken from the slot. If the slot has got a newer connection meanwhile, giveBack keeps the
// newer one and closes the older one.
func (s *slot) giveBack(c *memcache.Conn) {
	if newer := s.take(); newer != nil {
		discard(c)
		c = newer
	}
	s.put(c)
}

// close closes the connection in the slot. From then on, the method put closes each connection that it gets.
func (s *slot) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	if s.held != nil {
		discard(s.held)
		s.held = nil
	}
}

func discard(c *memcache.Conn) { _ = c.Close() }
