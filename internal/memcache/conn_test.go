// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcache_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/daemon"
)

func TestExchanges(t *testing.T) {
	memcached := daemon.Start(t)
	conn := memcached.Connect()
	for _, test := range []struct{ command, reply string }{
		{"set a 0 0 5\r\nhello", "STORED"},
		{"set b 7 0 7\r\nVALUE\r\n", "STORED"},
		{"nonsense", "ERROR"},
		{"mn", "MN"},
	} {
		// A context that ends after the reply must not affect the next command.
		ctx, cancel := context.WithCancel(t.Context())
		reply, err := conn.Command(ctx, test.command)
		cancel()
		if reply != test.reply || err != nil {
			t.Errorf("%s: got %q, want %q: %v", test.command, reply, test.reply, err)
		}
	}
	for name, topic := range map[string][]string{"curr_items": nil, "maxbytes": {"settings"}} {
		if stats, err := conn.Stats(t.Context(), topic...); stats[name] == "" || err != nil {
			t.Errorf("stats %v has no %s: %v", topic, name, err)
		}
	}
	memcached.Kill()
	if _, err := conn.Command(t.Context(), "set a 0 0 1\r\nb"); err == nil || !strings.HasPrefix(err.Error(), "set a 0 0 1: ") {
		t.Errorf("memcached is gone: %v", err)
	}
}

// A context ends the wait for a server that never replies.
func TestContextEndsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		conn := memcache.NewConn(here, "cache-0")
		tooLate := errors.New("it took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, tooLate)
		defer cancel()
		if _, err := conn.Stats(ctx, "items"); !errors.Is(err, tooLate) || err.Error() != "cache-0: stats items: it took too long" {
			t.Errorf("got %v", err)
		}
		if _, err := conn.Command(t.Context(), "mn"); err == nil {
			t.Error("a connection with a pending reply is still in use")
		}
	})
}
