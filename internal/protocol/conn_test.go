// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/internal/protocol"
)

// The tests of test/traffic cover the other methods, with a server that stores items.

func TestValue(t *testing.T) {
	for reply, test := range map[string]struct {
		want *protocol.Value
		err  string
	}{
		"END\r\n": {nil, ""},
		"VALUE key 7 12\r\nhello\r\nworld\r\nEND\r\n": {&protocol.Value{Bytes: []byte("hello\r\nworld"), Flags: 7}, ""},
		"VALUE key 0 0\r\n\r\nEND\r\n":                {&protocol.Value{Bytes: []byte{}}, ""},
		"VALUE key 0 5\r\nhell":                       {nil, "cache-0: get: unexpected EOF"},
		"VALUE key 0 5\r\nhello\r\n":                  {nil, "cache-0: get: EOF"},
		"VALUE key 0 99999999999\r\n":                 {nil, `cache-0: get: the reply is "VALUE key 0 99999999999"`},
		"VALUE key 0 -1\r\n":                          {nil, `cache-0: get: the reply is "VALUE key 0 -1"`},
		"CLIENT_ERROR unauthenticated\r\n":            {nil, `cache-0: get: the reply is "CLIENT_ERROR unauthenticated"`},
		// Only an ASCII space separates words: a key may have other white space.
		"VALUE page\u30007\u00a08 1 5\r\nhello\r\nEND\r\n": {&protocol.Value{Bytes: []byte("hello"), Flags: 1}, ""},
		"VALUE key 0 5 42\r\nhello\r\nEND\r\n":             {&protocol.Value{Bytes: []byte("hello")}, ""},
		"VALUE key 0\r\n":                                  {nil, `cache-0: get: the reply is "VALUE key 0"`},
		"VALUE key 0 5 42 0\r\n":                           {nil, `cache-0: get: the reply is "VALUE key 0 5 42 0"`},
		"VALUE key -1 5\r\n":                               {nil, `cache-0: get: the reply is "VALUE key -1 5"`},
		"VALUE key 4294967296 5\r\n":                       {nil, `cache-0: get: the reply is "VALUE key 4294967296 5"`},
		"VALUE key 0 5x\r\n":                               {nil, `cache-0: get: the reply is "VALUE key 0 5x"`},
		"VALUE key 0  5\r\n":                               {nil, `cache-0: get: the reply is "VALUE key 0  5"`},
		"OK\r\n":                                           {nil, `cache-0: get: the reply is "OK"`},
	} {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			if request, err := bufio.NewReader(there).ReadString('\n'); err == nil && request == "get key\r\n" {
				_, _ = io.WriteString(there, reply)
			}
		}()
		conn := protocol.NewConn(here, "cache-0")
		value, err := conn.Value(t.Context(), "key")
		if diff := cmp.Diff(test.want, value); diff != "" {
			t.Errorf("%q (-want +got):\n%s", reply, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%q: got %v, want %s", reply, err, test.err)
		}
		_ = conn.Close()
	}
}

func TestRefusal(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		_, _ = bufio.NewReader(there).ReadString('\n')
		_, _ = io.WriteString(there, "CLIENT_ERROR unauthenticated\r\n")
	}()
	_, err := protocol.NewConn(here, "cache-0").Stats(t.Context())
	var refusal *protocol.RefusalError
	if !errors.As(err, &refusal) || refusal.Reply != "CLIENT_ERROR unauthenticated" {
		t.Errorf("got %v", err)
	}
}
