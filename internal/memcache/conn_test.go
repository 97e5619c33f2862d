// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcache_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/repository"
)

// memcached starts a memcached, and returns a connection to it. The function stop ends it.
func memcached(t *testing.T) (conn *memcache.Conn, stop func()) {
	t.Helper()
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "memcached")
	command := exec.Command(repository.Path("bin", "memcached"), "-s", socket, "-u", self.Username)
	if err := command.Start(); err != nil {
		t.Fatalf("hack/memcached.sh provides it: %v", err)
	}
	stop = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	t.Cleanup(stop)
	for range 1000 {
		if dialed, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket); err == nil {
			t.Cleanup(func() { _ = dialed.Close() })
			return memcache.NewConn(dialed, "cache-0"), stop
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("memcached does not listen")
	return nil, nil
}

func TestExchanges(t *testing.T) {
	conn, stop := memcached(t)
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
	if hits, last, err := conn.Get(t.Context(), "a", "absent", "b"); hits != 2 || last != "END" || err != nil {
		t.Errorf("got %d hits and %q: %v", hits, last, err)
	}
	for name, topic := range map[string][]string{"curr_items": nil, "maxbytes": {"settings"}} {
		if stats, err := conn.Stats(t.Context(), topic...); stats[name] == "" || err != nil {
			t.Errorf("stats %v has no %s: %v", topic, name, err)
		}
	}
	stop()
	if _, err := conn.Command(t.Context(), "set a 0 0 1\r\nb"); err == nil || !strings.HasPrefix(err.Error(), "cache-0: set a 0 0 1: ") {
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

func TestValue(t *testing.T) {
	for reply, test := range map[string]struct {
		want *memcache.Value
		err  string
	}{
		"END\r\n": {nil, ""},
		"VALUE key 7 12\r\nhello\r\nworld\r\nEND\r\n": {&memcache.Value{Bytes: []byte("hello\r\nworld"), Flags: 7}, ""},
		"VALUE key 0 0\r\n\r\nEND\r\n":                {&memcache.Value{Bytes: []byte{}}, ""},
		"VALUE key 0 5\r\nhell":                       {nil, "cache-0: get: unexpected EOF"},
		"VALUE key 0 5\r\nhello\r\n":                  {nil, "cache-0: get: EOF"},
		"VALUE key 0 99999999999\r\n":                 {nil, `cache-0: get: unexpected reply: "VALUE key 0 99999999999"`},
		"VALUE key 0 -1\r\n":                          {nil, `cache-0: get: unexpected reply: "VALUE key 0 -1"`},
		"CLIENT_ERROR unauthenticated\r\n":            {nil, `cache-0: get: memcached demands authentication`},
		// Only an ASCII space separates words: a key may have other white space.
		"VALUE page\u30007\u00a08 1 5\r\nhello\r\nEND\r\n": {&memcache.Value{Bytes: []byte("hello"), Flags: 1}, ""},
		"VALUE key 0 5 42\r\nhello\r\nEND\r\n":             {&memcache.Value{Bytes: []byte("hello")}, ""},
		"VALUE key 0\r\n":                                  {nil, `cache-0: get: unexpected reply: "VALUE key 0"`},
		"VALUE key 0 5 42 0\r\n":                           {nil, `cache-0: get: unexpected reply: "VALUE key 0 5 42 0"`},
		"VALUE key -1 5\r\n":                               {nil, `cache-0: get: unexpected reply: "VALUE key -1 5"`},
		"VALUE key 4294967296 5\r\n":                       {nil, `cache-0: get: unexpected reply: "VALUE key 4294967296 5"`},
		"VALUE key 0 5x\r\n":                               {nil, `cache-0: get: unexpected reply: "VALUE key 0 5x"`},
		"VALUE key 0  5\r\n":                               {nil, `cache-0: get: unexpected reply: "VALUE key 0  5"`},
		"OK\r\n":                                           {nil, `cache-0: get: unexpected reply: "OK"`},
	} {
		value, err := replying(t, reply).Value(t.Context(), "key")
		if diff := cmp.Diff(test.want, value); diff != "" {
			t.Errorf("%q (-want +got):\n%s", reply, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%q: got %v, want %s", reply, err, test.err)
		}
	}
}

// replying connects to a server that sends these bytes after the first line that it gets, and closes the connection.
func replying(t *testing.T, replies string) *memcache.Conn {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		if _, err := bufio.NewReader(there).ReadString('\n'); err == nil {
			_, _ = io.WriteString(there, replies)
		}
	}()
	conn := memcache.NewConn(here, "cache-0")
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

const lineSize = 4096

func TestDemandsLogin(t *testing.T) {
	for reply, want := range map[string]struct {
		demanded bool
		err      error
	}{
		"VERSION 1.6.45\r\n":                   {},
		"VERSION 2.0-beta+dfsg\n":              {},
		"ERROR\r\n":                            {},
		"CLIENT_ERROR unauthenticated\r\n":     {demanded: true},
		"ERROR Too many open connections\r\n":  {err: memcache.ErrConnectionLimit},
		"ERROR unknown\r\n":                    {err: memcache.ErrMalformed},
		"VERSION\r\n":                          {err: memcache.ErrMalformed},
		"SERVER_ERROR out of memory\r\n":       {err: memcache.ErrMalformed},
		"CLIENT_ERROR bad command line\r\n":    {err: memcache.ErrMalformed},
		"\r\n":                                 {err: memcache.ErrMalformed},
		strings.Repeat("x", lineSize) + "\r\n": {err: memcache.ErrMalformed},
		"VERSION 1.6.45\r\nVERSION 1.6.45\r\n": {err: memcache.ErrMalformed},
		"VERSION 1.6.45":                       {err: io.EOF},
		"":                                     {err: io.EOF},
	} {
		if demanded, err := replying(t, reply).DemandsLogin(t.Context()); demanded != want.demanded || !errors.Is(err, want.err) {
			t.Errorf("%.40q: got %t, %v, want %+v", reply, demanded, err, want)
		}
	}
}

func TestLogIn(t *testing.T) {
	for reply, want := range map[string]struct {
		accepted bool
		err      error
	}{
		"STORED\r\n": {accepted: true},
		"CLIENT_ERROR authentication failure\r\n": {},
		"ERROR Too many open connections\r\n":     {err: memcache.ErrConnectionLimit},
		"CLIENT_ERROR unauthenticated\r\n":        {err: memcache.ErrUnauthenticated},
		"ERROR\r\n":                               {err: memcache.ErrMalformed},
		"":                                        {err: io.EOF},
	} {
		accepted, err := replying(t, reply).LogIn(t.Context(), "bob", "hunter2")
		if accepted != want.accepted || !errors.Is(err, want.err) || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %t, %v, want %+v", reply, accepted, err, want)
		}
	}
}

func TestStatsFail(t *testing.T) {
	longest := "STAT x " + strings.Repeat("y", lineSize-9) + "\r\n"
	for _, test := range []struct {
		name, replies, message string
		want                   error
	}{
		{name: "nothing", want: io.EOF, message: "EOF"},
		{name: "a part of a line", replies: "STAT pid", want: io.EOF, message: "EOF"},
		{name: "a part of a reply", replies: "STAT pid 1\r\n", want: io.EOF, message: "EOF"},
		{name: "no authentication", replies: "CLIENT_ERROR unauthenticated\r\n", want: memcache.ErrUnauthenticated, message: "memcached demands authentication"},
		{name: "no connection", replies: "ERROR Too many open connections\r\n", want: memcache.ErrConnectionLimit, message: "memcached is at its connection limit"},
		{name: "no statistics", replies: "VALUE a 0 1\r\n", want: memcache.ErrMalformed, message: `unexpected reply: "VALUE a 0 1"`},
		{name: "control characters", replies: "\x1b[2J\u202e\r\n", want: memcache.ErrMalformed, message: `unexpected reply: "\x1b[2J\u202e"`},
		{name: "a long refusal", replies: strings.Repeat("x", 100) + "\r\n", want: memcache.ErrMalformed, message: `unexpected reply: "` + strings.Repeat("x", 80) + `"`},
		{name: "a line that is too long", replies: "STAT x" + longest, want: memcache.ErrMalformed, message: "unexpected reply: a line of more than 4096 bytes"},
		{name: "too many lines", replies: strings.Repeat(longest, 256/4+1), want: memcache.ErrMalformed, message: "unexpected reply: more than 262144 bytes"},
	} {
		got, err := replying(t, test.replies).Stats(t.Context())
		if got != nil || !errors.Is(err, test.want) || err.Error() != "cache-0: stats: "+test.message {
			t.Errorf("%s: got %v, %v, want %s", test.name, got, err, test.message)
		}
	}
}

func TestRefusal(t *testing.T) {
	_, err := replying(t, "CLIENT_ERROR unauthenticated\r\n").Stats(t.Context())
	var refusal *memcache.RefusalError
	if !errors.As(err, &refusal) || refusal.Reply != "CLIENT_ERROR unauthenticated" {
		t.Errorf("got %v", err)
	}
}
