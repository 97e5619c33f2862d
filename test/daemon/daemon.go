// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package daemon runs the memcached of hack/memcached.sh for tests.
package daemon

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
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

// Start starts a memcached with these arguments at a free port, and waits until it listens.
func Start(t testing.TB, arguments ...string) *Memcached {
	t.Helper()
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	arguments = append([]string{"-u", self.Username, "-U", "0", "-l", "127.0.0.1", "-p", "-1"}, arguments...)
	m := &Memcached{Command: exec.Command(repository.Path("bin", "memcached"), arguments...), t: t}
	file := filepath.Join(t.TempDir(), "port")
	m.Command.Env = append(os.Environ(), "MEMCACHED_PORT_FILENAME="+file)
	if err := m.Command.Start(); err != nil {
		t.Fatalf("hack/memcached.sh provides it: %v", err)
	}
	t.Cleanup(m.Kill)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			m.Address = "127.0.0.1:" + strings.TrimSpace(strings.TrimPrefix(string(text), "TCP INET: "))
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
