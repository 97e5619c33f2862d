// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What agents tell each other is of no use to anybody who listens.
func TestRequestsShowNoSecret(t *testing.T) {
	pair := issue(t, 0xa1, nil)
	c := newWholeCache(t, 2, pair.tlsSecret(t), usersSecret("bob", "hunter2"))
	key := c.nodes[0].agent.state.current.key()
	for range 2 {
		if err := c.nodes[0].agent.revocation.peers.completed(t.Context(), "cache-1.cache.shop.svc:11212", key); err != nil {
			t.Error(err)
		}
	}
	if len(c.sent) != 2 || c.sent[0] == c.sent[1] {
		t.Errorf("the requests are %q", c.sent)
	}
	for _, secret := range []string{key, "hunter2", "bob", string(pair.keyPEM(t))[30:60]} {
		if strings.Contains(strings.Join(c.sent, "\n"), secret) {
			t.Errorf("%q is in %q", secret, c.sent)
		}
	}
}

// Only an agent with the same content says that it is done, and only for itself.
func TestWhoIsNotDone(t *testing.T) {
	users := usersSecret("bob", "1", "eve", "2")
	more, less := with(users, "zoe", "3"), without(users, "eve")
	// The second node is asked.
	for name, change := range map[string]func(first, second *testbed){
		"memcached is away":  func(_, second *testbed) { second.memcached.stop() },
		"it is another node": func(_, second *testbed) { second.agent.revocation.node = "cache-2" },
		"other content":      func(first, _ *testbed) { first.users.set(t, more) },
		"content that is not in use": func(first, second *testbed) {
			first.users.set(t, more)
			second.users.set(t, more)
			second.memcached.deaf = true
		},
		"memcached has started and does not answer": func(_, second *testbed) {
			second.memcached.start()
			second.memcached.hangs = true
		},
		"it must forget somebody, and waits": func(first, second *testbed) {
			first.users.set(t, less)
			second.users.set(t, less)
		},
		"it restarts nothing": func(_, second *testbed) { second.agent.config.RestartForUsers = false },
	} {
		t.Run(name, func(t *testing.T) {
			c := newWholeCache(t, 2, nil, users)
			change(c.nodes[0], c.nodes[1])
			ask := c.nodes[0].agent.revocation.peers
			for _, node := range c.nodes {
				node.agent.step(t.Context())
			}
			if err := ask.completed(t.Context(), "cache-1.cache.shop.svc:11212", c.nodes[0].agent.state.current.key()); err == nil {
				t.Error("it says that it is done")
			}
		})
	}
}

// Somebody else may have the address of a node that has left it.
func TestStrangersAreNotBelieved(t *testing.T) {
	b := newTestbed(t, nil, usersSecret("bob", "1")).restarting(1, 2).run()
	b.now = b.now.Add(settlePeriod)
	b.agent.step(t.Context())
	key := b.agent.state.current.key()
	for name, behavior := range map[string]http.HandlerFunc{
		"done":    func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") },
		"an echo": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.URL.Query().Get("proof")) },
		"much":    func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("x", 1<<20)) },
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"an old one": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, codeOf(key, ofResponse, "127", "before"))
		},
		"another's": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, codeOf(key, ofResponse, "cache-1", r.URL.Query().Get("nonce")))
		},
	} {
		err := asked(t, behavior, key)
		if err == nil || !errors.Is(err, errNotCompleted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	own := func(w http.ResponseWriter, r *http.Request) {
		b.agent.revocation.node = "127" // what comes before the first dot
		b.agent.revocation.ServeHTTP(w, r)
	}
	if err := asked(t, own, key); err != nil {
		t.Errorf("the agent itself: %v", err)
	}
}

// asked asks a server for an answer.
func asked(t *testing.T, behavior http.HandlerFunc, key string) error {
	t.Helper()
	server := httptest.NewServer(behavior)
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return newAgents(port).completed(t.Context(), "127.0.0.1:11212", key)
}

// A log says why there is no answer, the same each time, and no proof.
func TestReasonsWhyThereIsNoAnswer(t *testing.T) {
	closed := httptest.NewServer(nil)
	_, port, _ := net.SplitHostPort(closed.Listener.Addr().String())
	closed.Close()
	const want = "the agent of 127 does not answer: connect: connection refused"
	if err := newAgents(port).completed(t.Context(), "127.0.0.1:11212", "key"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	_, port, _ = net.SplitHostPort(hanging.Listener.Addr().String())
	impatient := newAgents(port)
	impatient.client.Timeout = time.Millisecond
	err := impatient.completed(t.Context(), "127.0.0.1:11212", "key")
	if err == nil || !strings.Contains(err.Error(), "the agent of 127 does not answer: ") || strings.Contains(err.Error(), "proof") {
		t.Errorf("an agent that hangs: %v", err)
	}
	if err := newAgents(port).completed(t.Context(), "nonsense", "key"); err == nil {
		t.Error("an address without a port is asked")
	}
}
