// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If memcached hangs and its queue of connections is full, the parent ends it. Before, it hangs as long as it likes.
func TestDeafMemcached(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.deafAfter = 2 * time.Second
	script, err := os.ReadFile(p.options.Program)
	must(t, err)
	must(t, os.WriteFile(p.options.Program, []byte(strings.Replace(string(script), `"$@" -l`, `"$@" -b 1 -l`, 1)), 0o700)) // a short queue
	p.begin(inMemory(t))
	pid := p.pid()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	p.await("the queue is full", func() error {
		conn, err := net.DialTimeout("tcp", p.options.Memcached, 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			return errDeaf // not yet
		}
		return nil
	})
	p.logs(errDeaf.Error())
	must(t, syscall.Kill(pid, syscall.SIGCONT))
	if code := p.exit(); code == 0 {
		t.Error("the container ends as if all was well")
	}
}

// Only a memcached that serves is judged, and any answer is a sign of life.
func TestWatch(t *testing.T) {
	t.Parallel()
	silent := newNetwork() + "1:11211"
	for name, test := range map[string]struct {
		view *view
		// answer is what the server says, empty if nobody listens.
		answer string
		deaf   bool
	}{
		"nobody listens":               {view: &view{serving: true}, deaf: true},
		"it is being started":          {view: &view{deadline: time.Now().Add(time.Hour)}},
		"it waits for something else":  {view: &view{}},
		"it is not started in time":    {view: &view{deadline: time.Now().Add(-time.Hour)}, deaf: true},
		"clients have all connections": {view: &view{serving: true}, answer: "ERROR Too many open connections\r\n"},
		"it demands a login":           {view: &view{serving: true}, answer: "CLIENT_ERROR unauthenticated\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(silent, 120*time.Millisecond)
			asked := make(chan struct{}, 100)
			if test.answer != "" {
				listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
				must(t, err)
				defer listener.Close()
				w.memcached = listener.Addr().String()
				go func() {
					for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
						_, _ = conn.Write([]byte(test.answer))
						_ = conn.Close()
						asked <- struct{}{}
					}
				}()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go w.run(ctx, test.view)
			switch {
			case test.deaf:
				<-w.deaf // the test fails only by its timeout
			case test.answer != "":
				for range 30 {
					<-asked
				}
			default:
				time.Sleep(50 * w.interval)
			}
			if !test.deaf && len(w.deaf) > 0 {
				t.Error("it is called deaf")
			}
			if test.deaf != w.stillDeaf(ctx, test.view) {
				t.Error("the last look sees something else")
			}
		})
	}
}
