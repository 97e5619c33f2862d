// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package daemon runs the memcached of hack/memcached.sh for tests.
package daemon

import (
	"net"
	"os/exec"
	"os/user"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/repository"
)

// Memcached is a memcached that runs until the test ends.
type Memcached struct {
	Address string
	Command *exec.Cmd

	t testing.TB
}

// Start starts a memcached with these arguments, and waits until it accepts connections.
func Start(t testing.TB, arguments ...string) *Memcached {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &Memcached{Address: listener.Addr().String(), t: t}
	_ = listener.Close()
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	m.Command = exec.Command(repository.Path("bin", "memcached"), append([]string{"-u", self.Username, "-U", "0", "-l", m.Address}, arguments...)...)
	if err := m.Command.Start(); err != nil {
		t.Fatalf("hack/memcached.sh provides it: %v", err)
	}
	t.Cleanup(m.Kill)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if conn, err := memcache.Dial(t.Context(), m.Address); err == nil {
			_ = conn.Close()
			return m
		}
	}
	t.Fatal("memcached does not listen")
	return nil
}

// Kill ends memcached.
func (m *Memcached) Kill() {
	_ = m.Command.Process.Kill() // it may have ended
	_ = m.Command.Wait()
}

// Connect returns a connection that is closed when the test ends.
func (m *Memcached) Connect() *memcache.Conn {
	m.t.Helper()
	conn, err := memcache.Dial(m.t.Context(), m.Address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	return conn
}
