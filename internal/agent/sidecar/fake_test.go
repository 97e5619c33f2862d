// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fake is a memcached that behaves as a test wants.
type fake struct {
	address string

	mutex    sync.Mutex
	listener net.Listener
	behavior func(net.Conn)
	open     map[net.Conn]bool
	accepted int
}

// newFake runs a fake until the test ends. It calls the behavior for each connection, and closes the connection afterwards.
func newFake(t testing.TB, behavior func(net.Conn)) *fake {
	t.Helper()
	f := &fake{address: "127.0.0.1:0", behavior: behavior, open: map[net.Conn]bool{}}
	f.listen(t)
	t.Cleanup(func() {
		f.stopListening()
		f.hangUp()
	})
	return f
}

func (f *fake) listen(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", f.address)
	must(t, err)
	f.listener, f.address = listener, listener.Addr().String()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go f.serve(conn)
		}
	}()
}

func (f *fake) stopListening() { _ = f.listener.Close() }

func (f *fake) serve(conn net.Conn) {
	f.mutex.Lock()
	behavior := f.behavior
	f.open[conn] = true
	f.accepted++
	f.mutex.Unlock()
	behavior(conn)
	_ = conn.Close()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.open, conn)
}

// behave changes the behavior for later connections.
func (f *fake) behave(behavior func(net.Conn)) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.behavior = behavior
}

func (f *fake) hangUp() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for conn := range f.open {
		_ = conn.Close()
	}
}

func (f *fake) counts() (open, accepted int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.open), f.accepted
}

func (f *fake) options() Options {
	return Options{Memcached: f.address, Timeout: time.Second}
}

const (
	versionReply         = "VERSION 1.6.45\r\n"
	unauthenticatedReply = "CLIENT_ERROR unauthenticated\r\n"
	connectionLimitReply = "ERROR Too many open connections\r\n"
)

// recorded returns a behavior that replies with the recording in a folder of stats/testdata.
func recorded(t testing.TB, folder string) func(net.Conn) {
	t.Helper()
	replies := map[string]string{"version": versionReply}
	for request, file := range map[string]string{
		"stats": "stats", "stats settings": "settings", "stats items": "items", "stats slabs": "slabs",
		"stats proxy": "proxy", "stats proxybe": "proxybe",
	} {
		text, err := os.ReadFile(filepath.Join("..", "stats", "testdata", folder, file+".txt"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		replies[request] = strings.ReplaceAll(string(text), "\n", "\r\n")
	}
	return answering(func(request string) string { return replies[request] })
}

func answering(reply func(request string) string) func(net.Conn) {
	return func(conn net.Conn) {
		for requests := bufio.NewScanner(conn); requests.Scan(); {
			if _, err := io.WriteString(conn, reply(requests.Text())); err != nil {
				return
			}
		}
	}
}

func always(reply string) func(net.Conn) {
	return answering(func(string) string { return reply })
}

func hangs(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// refuses does what memcached does with a connection beyond its connection limit.
func refuses(conn net.Conn) { _, _ = io.WriteString(conn, connectionLimitReply) }

// closesAfter returns a behavior that reads one line, writes the text whatever the line is, and closes the connection.
func closesAfter(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n') // the kernel might discard the text if it closed a connection with unread bytes
		_, _ = io.WriteString(conn, text)
	}
}

func repeats(text string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		var err error
		for ; err == nil; time.Sleep(pause) {
			_, err = io.WriteString(conn, text)
		}
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}
