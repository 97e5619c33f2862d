// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/traffic"
)

type server struct {
	t       testing.TB
	address string
	command *exec.Cmd
}

func start(t testing.TB, arguments ...string) *server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	s := &server{t: t, address: listener.Addr().String()}
	must(t, listener.Close())
	_, port, err := net.SplitHostPort(s.address)
	must(t, err)
	self, err := user.Current()
	must(t, err)
	arguments = append([]string{"-u", self.Username, "-l", "127.0.0.1", "-p", port, "-U", "0"}, arguments...)
	s.command = exec.CommandContext(context.WithoutCancel(t.Context()), repository.Path("bin", "memcached"), arguments...)
	must(t, s.command.Start())
	t.Cleanup(func() {
		_ = s.command.Process.Kill()
		_ = s.command.Wait()
	})
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		conn, err := memcache.Dial(t.Context(), s.address)
		if err == nil {
			must(t, conn.Close())
			return s
		}
		if time.Since(began) > time.Minute {
			t.Fatal(err)
		}
	}
}

func (s *server) connect() *memcache.Conn {
	s.t.Helper()
	conn, err := memcache.Dial(s.t.Context(), s.address)
	must(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *server) store(count, size int) {
	s.t.Helper()
	s.storeAs("key", count, size)
}

// storeAs stores the items PREFIX-0, PREFIX-1 and so on.
func (s *server) storeAs(prefix string, count, size int) {
	s.t.Helper()
	conn, value := s.connect(), strings.Repeat("v", size)
	for first := 0; first < count; first += 1000 {
		var request strings.Builder
		for i := first; i < min(first+1000, count); i++ {
			fmt.Fprintf(&request, "ms %s-%d %d T0 q\r\n%s\r\n", prefix, i, size, value)
		}
		reply, err := conn.Command(s.t.Context(), request.String()+"mn")
		must(s.t, err)
		if reply != "MN" {
			s.t.Fatal(reply)
		}
	}
}

func (s *server) ask(command string) string {
	s.t.Helper()
	reply, err := s.connect().Command(s.t.Context(), command)
	must(s.t, err)
	return reply
}

func (s *server) items() string {
	s.t.Helper()
	stats, err := s.connect().Stats(s.t.Context())
	must(s.t, err)
	return stats["curr_items"]
}

func (s *server) value(key string) string {
	s.t.Helper()
	value, err := traffic.Read(s.t.Context(), s.connect(), key)
	must(s.t, err)
	if value == nil {
		return ""
	}
	return string(value.Bytes)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
