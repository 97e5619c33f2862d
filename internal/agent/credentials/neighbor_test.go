// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wholeCache has nodes whose agents ask each other. DNS knows those that are ready.
type wholeCache struct {
	nodes []*testbed
	// sent are all requests.
	sent   []string
	random *rand.Rand
	// restarts is after how many restarts the test goes on, less than 0 if it waits until nothing happens any more.
	restarts int
}

// newWholeCache runs so many nodes with the same Secrets.
func newWholeCache(t *testing.T, size int, tlsSecret, users map[string][]byte) *wholeCache {
	t.Helper()
	c := &wholeCache{restarts: -1}
	for i := range size {
		node := newTestbed(t, tlsSecret, users).restarting(i, size)
		node.agent.neighbors = agents{port: "9150", client: &http.Client{Transport: c}}
		c.nodes = append(c.nodes, node)
		node.run()
	}
	return c
}

// RoundTrip implements http.RoundTripper: it is the network.
func (c *wholeCache) RoundTrip(request *http.Request) (*http.Response, error) {
	c.sent = append(c.sent, request.URL.String())
	name, rest, _ := strings.Cut(request.URL.Host, ".")
	at := slices.IndexFunc(c.nodes, func(node *testbed) bool { return node.name == name })
	if at < 0 || rest != "cache.shop.svc:9150" || c.nodes[at].memcached.process == (Process{}) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: request.URL.Host}}
	}
	recorder := httptest.NewRecorder()
	c.nodes[at].agent.ServeRevocation(recorder, request)
	return recorder.Result(), nil
}

// The kubelets deliver two Secrets at different times, and the agents work in any order. Nodes restart one at a time even so, from
// the last one to the first, and once.
func TestNodesRestartOneAtATime(t *testing.T) {
	r := newRotation(t)
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := newWholeCache(t, 4, r.first.tlsSecret(t, r.old), r.oldUsers)
			c.random = rand.New(rand.NewPCG(seed, 0))
			order := c.revoke(func(node *testbed) { node.tls.set(t, r.second.tlsSecret(t, r.fresh)) },
				func(node *testbed) { node.users.set(t, r.freshUsers) })
			c.mustBeDone(r.second, r.freshUsers)
			if !slices.Equal(order, []int{3, 2, 1, 0}) {
				t.Errorf("the nodes restarted in the order %v", order)
			}
		})
	}
}

// A second revocation begins before the first has ended. No two nodes are away at the same time even then, and none restarts more than
// twice.
func TestASecondRevocationBegins(t *testing.T) {
	r := newRotation(t)
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := newWholeCache(t, 4, r.first.tlsSecret(t, r.old), r.oldUsers)
			c.random, c.restarts = rand.New(rand.NewPCG(seed, 0)), 2
			first := c.revoke(func(node *testbed) { node.tls.set(t, r.second.tlsSecret(t, r.fresh)) })
			c.restarts = -1
			second := c.revoke(func(node *testbed) { node.users.set(t, r.freshUsers) })
			c.mustBeDone(r.second, r.freshUsers)
			if !slices.Equal(first, []int{3, 2}) || len(second) < 3 || len(second) > 6 {
				t.Errorf("the nodes restarted in the order %v, and then %v", first, second)
			}
		})
	}
}

// revoke delivers changes to the nodes in any order, and lets the agents work. It returns the order in which nodes were ended.
func (c *wholeCache) revoke(changes ...func(*testbed)) []int {
	var deliveries []func()
	for _, node := range c.nodes {
		for _, change := range changes {
			deliveries = append(deliveries, func() { change(node) })
		}
	}
	c.random.Shuffle(len(deliveries), func(i, j int) { deliveries[i], deliveries[j] = deliveries[j], deliveries[i] })
	var order []int
	for round := 0; round < 100 && len(order) != c.restarts; round++ {
		if len(deliveries) > 0 {
			deliveries[0]()
			deliveries = deliveries[1:]
		}
		order = append(order, c.work()...)
	}
	return order
}

// work lets each agent take a step, and starts a memcached that has been away for some steps. It returns the nodes that were ended.
func (c *wholeCache) work() []int {
	var ended []int
	for _, i := range c.random.Perm(len(c.nodes)) {
		node := c.nodes[i]
		away := node.memcached.process == (Process{})
		if away && c.random.IntN(2) == 0 {
			node.memcached.start()
		}
		// All take five seconds, so that their clocks agree.
		next := node.now.Add(pollPeriod)
		for node.now.Before(next) {
			node.agent.sleep(node.t.Context(), min(node.agent.step(node.t.Context()), max(next.Sub(node.now), time.Millisecond)))
		}
		if away || node.memcached.process != (Process{}) {
			continue
		}
		ended = append(ended, i)
		for _, other := range c.nodes {
			if other != node && other.memcached.process == (Process{}) {
				node.t.Errorf("%s and %s are away at the same time", node.name, other.name)
			}
		}
	}
	return ended
}

func (c *wholeCache) mustBeDone(certificate *issued, users map[string][]byte) {
	for _, node := range c.nodes {
		node.mustHave(true, serial(certificate.certificate))
		if !node.memcached.serves(certificate, users) {
			node.t.Errorf("%s does not serve the new content", node.name)
		}
	}
}

// What agents tell each other is of no use to anybody who listens.
func TestQuestionsShowNoSecret(t *testing.T) {
	pair := issue(t, 0xa1, nil)
	c := newWholeCache(t, 2, pair.tlsSecret(t), usersSecret("bob", "hunter2"))
	key := c.nodes[0].agent.current.key()
	for range 2 {
		if err := c.nodes[0].agent.neighbors.done(t.Context(), "cache-1.cache.shop.svc:11212", key); err != nil {
			t.Error(err)
		}
	}
	if len(c.sent) != 2 || c.sent[0] == c.sent[1] {
		t.Errorf("the questions are %q", c.sent)
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
		"it is another node": func(_, second *testbed) { second.agent.node = "cache-2" },
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
			ask := c.nodes[0].agent.neighbors
			for _, node := range c.nodes {
				node.agent.step(t.Context())
			}
			if err := ask.done(t.Context(), "cache-1.cache.shop.svc:11212", c.nodes[0].agent.current.key()); err == nil {
				t.Error("it says that it is done")
			}
		})
	}
}

// Somebody else may have the address of a node that has left it.
func TestStrangersAreNotBelieved(t *testing.T) {
	b := newTestbed(t, nil, usersSecret("bob", "1")).restarting(1, 2).run()
	key := b.agent.current.key()
	for name, behavior := range map[string]http.HandlerFunc{
		"done":    func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") },
		"an echo": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.URL.Query().Get("proof")) },
		"much":    func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("x", 1<<20)) },
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"an old one": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, proof(key, answer, "127", "before"))
		},
		"another's": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, proof(key, answer, "cache-1", r.URL.Query().Get("nonce")))
		},
	} {
		err := asked(t, behavior, key)
		if err == nil || !errors.Is(err, errNotDone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	own := func(w http.ResponseWriter, r *http.Request) {
		b.agent.node = "127" // what comes before the first dot
		b.agent.ServeRevocation(w, r)
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
	return newAgents(port).done(t.Context(), "127.0.0.1:11212", key)
}

// A log says why there is no answer, the same each time, and no proof.
func TestReasonsWhyThereIsNoAnswer(t *testing.T) {
	closed := httptest.NewServer(nil)
	_, port, _ := net.SplitHostPort(closed.Listener.Addr().String())
	closed.Close()
	const want = "the agent of 127 does not answer: connect: connection refused"
	if err := newAgents(port).done(t.Context(), "127.0.0.1:11212", "key"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	_, port, _ = net.SplitHostPort(hanging.Listener.Addr().String())
	impatient := newAgents(port)
	impatient.client.Timeout = time.Millisecond
	err := impatient.done(t.Context(), "127.0.0.1:11212", "key")
	if err == nil || !strings.Contains(err.Error(), "the agent of 127 does not answer: ") || strings.Contains(err.Error(), "proof") {
		t.Errorf("an agent that hangs: %v", err)
	}
	if err := newAgents(port).done(t.Context(), "nonsense", "key"); err == nil {
		t.Error("an address without a port is asked")
	}
}
