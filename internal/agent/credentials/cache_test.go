// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
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
		c.nodes = append(c.nodes, node)
		c.connect(node)
		node.run()
	}
	for _, node := range slices.Backward(c.nodes) {
		node.now = node.now.Add(settlePeriod)
		node.agent.step(t.Context())
	}
	c.sent = nil
	return c
}

// wholeCache runs so many nodes with what is there before the rotation, which work in an order of their own for each seed.
func (r *rotation) wholeCache(t *testing.T, size int, seed uint64) *wholeCache {
	t.Helper()
	c := newWholeCache(t, size, r.first.tlsSecret(t, r.old), r.oldUsers)
	c.random = rand.New(rand.NewPCG(seed, 0))
	return c
}

// connect lets the agent of a node ask the others.
func (c *wholeCache) connect(node *testbed) {
	node.agent.revocation.peers = agents{port: "9150", client: &http.Client{Transport: c}}
}

func (c *wholeCache) restartAgent(node *testbed) {
	node.startAgent()
	c.connect(node)
	node.mustBegin()
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
	c.nodes[at].agent.revocation.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// The kubelets deliver two Secrets at different times, and the agents work in any order. Nodes restart one at a time even so, from
// the last one to the first, and once.
func TestNodesRestartOneAtATime(t *testing.T) {
	r := newRotation(t)
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := r.wholeCache(t, 4, seed)
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
			c := r.wholeCache(t, 4, seed)
			c.restarts = 2
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

// The second change reaches a node while its memcached is away, which then has nothing to forget. The nodes before it wait for those after
// it even so: otherwise two would restart at a time.
func TestASecondRevocationReachesANodeThatIsAway(t *testing.T) {
	r := newRotation(t)
	for seed := range uint64(3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := r.wholeCache(t, 16, seed)
			c.restarts = 8
			first := c.revoke(func(node *testbed) { node.tls.set(t, r.second.tlsSecret(t, r.fresh)) })
			change := func(node *testbed) { node.users.set(t, r.freshUsers) }
			away := c.nodes[8]
			change(away)
			away.agent.step(t.Context())
			away.memcached.start()
			c.restarts = -1
			second := c.revoke(change)
			c.mustBeDone(r.second, r.freshUsers)
			if !slices.Equal(first, []int{15, 14, 13, 12, 11, 10, 9, 8}) || !slices.Equal(second, []int{15, 14, 13, 12, 11, 10, 9, 7, 6, 5, 4, 3, 2, 1, 0}) {
				t.Errorf("the nodes restarted in the order %v, and then %v", first, second)
			}
		})
	}
}

// A node that crashes or is drained during a round has nothing to forget, and the nodes before it wait for those after it even so.
func TestANodeLeavesDuringARound(t *testing.T) {
	r := newRotation(t)
	for name, leave := range map[string]func(*testing.T, *wholeCache, *testbed){
		"memcached crashes": func(_ *testing.T, _ *wholeCache, node *testbed) { node.memcached.start() },
		"the agent as well": func(_ *testing.T, c *wholeCache, node *testbed) {
			node.memcached.start()
			c.restartAgent(node)
		},
		"it is drained": func(t *testing.T, c *wholeCache, node *testbed) {
			replacement := newTestbed(t, r.first.tlsSecret(t, r.old), r.freshUsers).restarting(1, 4)
			replacement.now = node.now
			replacement.agent.revocation.peers = node.agent.revocation.peers
			c.nodes[1] = replacement.run()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.wholeCache(t, 4, 1)
			for _, node := range c.nodes {
				node.users.set(t, r.freshUsers)
				node.agent.step(t.Context())
			}
			leave(t, c, c.nodes[1])
			order := c.revoke()
			c.mustBeDone(r.first, r.freshUsers)
			if !slices.Equal(order, []int{3, 2, 0}) {
				t.Errorf("the nodes restarted in the order %v", order)
			}
		})
	}
}

// A node that has nothing to forget waits no longer than one that has, so it delays nobody beyond that.
func TestANodeThatHasNothingToForgetGivesUpAsWell(t *testing.T) {
	r := newRotation(t)
	c := r.wholeCache(t, 5, 1)
	changed := c.nodes[0].now
	for _, node := range c.nodes[:4] { // the last one never hears of it
		node.users.set(t, r.freshUsers)
		node.agent.step(t.Context())
	}
	c.nodes[3].memcached.start()
	var order []int
	for c.nodes[0].now.Sub(changed) < nodeTimeout+time.Minute {
		if order = append(order, c.work()...); len(order) > 0 && c.nodes[0].now.Sub(changed) < nodeTimeout-pollPeriod {
			t.Fatalf("%v restarted after %s", order, c.nodes[0].now.Sub(changed))
		}
	}
	if !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("the nodes restarted in the order %v", order)
	}
}

// Agents are restarted while the nodes wait for each other, and have lost the order of the restarts.
func TestAgentsAreRestartedDuringARound(t *testing.T) {
	r := newRotation(t)
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := r.wholeCache(t, 6, seed)
			for _, node := range c.nodes {
				node.users.set(t, r.freshUsers)
			}
			var order []int
			for round := range 200 {
				if round%10 == 5 {
					c.restartAgent(c.nodes[c.random.IntN(len(c.nodes))])
				}
				order = append(order, c.work()...)
			}
			c.mustBeDone(r.first, r.freshUsers)
			if !slices.Equal(order, []int{5, 4, 3, 2, 1, 0}) {
				t.Errorf("the nodes restarted in the order %v", order)
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
	for round := 0; round < 60+10*len(c.nodes) && len(order) != c.restarts; round++ {
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
