// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/traffic"
)

func connect(t *testing.T, address string) *traffic.Conn {
	t.Helper()
	conn, err := traffic.Connect(t.Context(), nil, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // an error has closed it in some tests
	return conn
}

func TestCommand(t *testing.T) {
	conn := connect(t, (&fake{}).start(t).address)
	for _, test := range []struct{ command, reply string }{
		{"version", "VERSION 1.6.45"},
		{"set a 0 0 5\r\nhello", "STORED"},
		{"flush_all", "CLIENT_ERROR flush_all not allowed"},
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
}

func TestGet(t *testing.T) {
	conn := connect(t, (&fake{maxKeys: 3}).start(t).address)
	for _, command := range []string{"set a 0 0 5\r\nhello", "set b 7 0 0\r\n", "set c 0 0 7\r\nVALUE\r\n"} {
		if reply, err := conn.Command(t.Context(), command); reply != "STORED" || err != nil {
			t.Fatalf("%q: %q, %v", command, reply, err)
		}
	}
	for _, test := range []struct {
		keys string
		hits int
		last string
	}{
		{"a", 1, "END"},
		{"x", 0, "END"},
		{"a b c", 3, "END"},
		{"a x a", 2, "END"},
		{"a a a a", 0, "SERVER_ERROR out of memory writing get response"},
		{"c", 1, "END"}, // a refusal does not end the connection
	} {
		hits, last, err := conn.Get(t.Context(), strings.Fields(test.keys)...)
		if hits != test.hits || last != test.last || err != nil {
			t.Errorf("%s: got %d hits and %q, want %d and %q: %v", test.keys, hits, last, test.hits, test.last, err)
		}
	}
	for reply, want := range map[string]string{
		"VALUE a b c\r\n":          `gets of 1 keys: unexpected reply: "VALUE a b c"`,
		"VALUE a 0 5 1\r\nhell":    "gets of 1 keys: EOF",
		"VALUE a 0 1 1\r\nh\r\nEN": "gets of 1 keys: EOF",
	} {
		if _, _, err := respondingOnce(t, reply).Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", reply, err, want)
		}
	}
}

// respondingOnce connects to a server that sends this reply to the first request and closes the connection.
func respondingOnce(t *testing.T, reply string) *traffic.Conn {
	t.Helper()
	conn, err := traffic.Connect(t.Context(), pipeTo(func(conn net.Conn) {
		defer conn.Close()
		if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
			io.WriteString(conn, reply)
		}
	}), "server:11211")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// pipeTo returns a function that connects to the function "serve", without a network.
func pipeTo(serve func(conn net.Conn)) traffic.DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}
}

func TestStats(t *testing.T) {
	server := (&fake{memory: 64, itemMax: 8}).start(t)
	for _, test := range []struct {
		topic []string
		want  map[string]string
		err   string
	}{
		{nil, map[string]string{"version": "1.6.45", "evictions": "0"}, ""},
		{[]string{"settings"}, map[string]string{"maxbytes": "64", "item_size_max": "8", "inter": ""}, ""},
		{
			[]string{"cachedump", "1", "1"},
			nil,
			server.address + `: stats cachedump 1 1: unexpected reply: "CLIENT_ERROR stats cachedump 1 1 not allowed"`,
		},
	} {
		got, err := connect(t, server.address).Stats(t.Context(), test.topic...)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("stats %v (-want +got):\n%s", test.topic, diff)
		}
		if text := errorText(err); text != test.err {
			t.Errorf("stats %v: got %s, want %s", test.topic, text, test.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestConnectionTooMany(t *testing.T) {
	server := (&fake{maxConns: 1}).start(t)
	if reply, err := connect(t, server.address).Command(t.Context(), "mn"); reply != "MN" {
		t.Errorf("the first: %q, %v", reply, err)
	}
	if reply, err := connect(t, server.address).Command(t.Context(), "mn"); reply != "ERROR Too many open connections" {
		t.Errorf("one too many: %q, %v", reply, err)
	}
}

func TestErrorsOfConnections(t *testing.T) {
	server := (&fake{}).start(t)
	conn := connect(t, server.address)
	if _, err := conn.Command(t.Context(), "mn"); err != nil {
		t.Fatal(err)
	}
	server.stop()
	if _, err := conn.Command(t.Context(), "set a 0 0 1\r\nb"); !strings.HasPrefix(errorText(err), server.address+": set a 0 0 1: ") {
		t.Errorf("the server is gone: %v", err)
	}
	if _, err := traffic.Connect(t.Context(), nil, server.address); !strings.HasPrefix(errorText(err), server.address+": ") {
		t.Errorf("connecting: %v", err)
	}
}

// TestContextEndsExchange checks that a context ends the wait for a server that never replies.
func TestContextEndsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve := func(conn net.Conn) { io.Copy(io.Discard, conn) }
		conn, err := traffic.Connect(t.Context(), pipeTo(serve), "unresponsive:11211")
		if err != nil {
			t.Fatal(err)
		}
		tooLate := errors.New("it took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, tooLate)
		defer cancel()
		_, err = conn.Stats(ctx, "items")
		if !errors.Is(err, tooLate) || errorText(err) != "unresponsive:11211: stats items: it took too long" {
			t.Errorf("got %v", err)
		}
		if _, err := conn.Command(t.Context(), "mn"); err == nil {
			t.Error("a connection with a pending reply is still in use")
		}
	})
}
