// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"net"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// guideKeys is how many keys the clients read: enough to measure which share of the keys survives a change.
	guideKeys = 1000
	// guidePeriod is how often each client reads all keys while the nodes change.
	guidePeriod = 300 * time.Millisecond
	// lateAnswers is how many requests of a client may fail during a change. On a busy machine, a node may answer after the timeout of
	// 250 ms in docs/clients. If a node stopped while clients still use it, hundreds of requests would fail.
	lateAnswers = 5
)

// The clients are processes in the network of the local cluster, and resolve names with its DNS.
var _ = Describe("The clients of docs/clients.md", Label(onLocalCluster), func() {
	It("find each other's keys and follow the nodes without a failure", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		g := newGuide(ctx, "memcached")
		g.followNodes(ctx)
		By("reading what another wrote")
		g.refill(ctx)
		g.mustBeInDNS(ctx)
		g.toolsMustCount(ctx)
		g.change(ctx, "3 to 4 nodes", 0.6, func() { scale(ctx, g.mc, 4) })
		g.change(ctx, "one of 4 replaced", 0.4, func() { Expect(k8s.Delete(ctx, &k8s.Pods(ctx, g.mc)[0])).To(Succeed()) })
	})
})

// guide is the Memcached of docs/clients.md and its clients.
type guide struct {
	mc      *cachev1alpha1.Memcached
	blocks  map[string]string
	service string
	clients []*guideClient
}

// refill empties all nodes and lets the first client write all keys. It repeats this until every client finds all keys.
func (g *guide) refill(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(gomega Gomega) {
		for _, address := range g.addresses(ctx) {
			node := k8s.ConnectTo(ctx, serverOf(address).Address)
			gomega.Expect(node.Command(ctx, "flush_all")).To(Equal("OK"))
		}
		gomega.Expect(g.clients[0].fill(guideKeys)).To(Equal(all(guideKeys)))
		for _, client := range g.clients {
			gomega.Expect(client.read(guideKeys)).To(Equal(all(guideKeys)), client.name)
		}
	}).WithPolling(time.Second).Should(Succeed())
}

// change calls the function passed to it, which must change the nodes. Meanwhile, every client reads all keys again and again. At most
// lateAnswers requests of each client may fail. Every client must always find the keys that stay on their node. The share of these
// keys must be at least the argument least.
func (g *guide) change(ctx context.Context, title string, least float64, change func()) {
	GinkgoHelper()
	By(title)
	before := g.addresses(ctx)
	var expected atomic.Int64
	expected.Store(-1)
	outcomes := make([]outcome, len(g.clients))
	var clients sync.WaitGroup
	for i, client := range g.clients {
		clients.Go(func() {
			defer GinkgoRecover()
			outcomes[i] = client.readUntil(ctx, &expected)
		})
	}
	change()
	k8s.UntilReady(ctx, g.mc)
	Eventually(ctx, func() []string { return g.addresses(ctx) }).Should(HaveLen(int(g.mc.Spec.Size)))
	kept := keptOnRing(before, g.addresses(ctx))
	expected.Store(int64(kept))
	clients.Wait()
	Expect(float64(kept)/guideKeys).To(BeNumerically(">=", least), "the keys that stay where they are")
	for i, client := range g.clients {
		Expect(outcomes[i].failed).To(BeNumerically("<=", lateAnswers), "%s: %s", client.name, outcomes[i].firstFailure)
		Expect(outcomes[i].succeeded).To(BeNumerically("~", kept, outcomes[i].failed), client.name)
	}
	g.refill(ctx)
}

// readUntil reads all keys again and again until it finds exactly the expected number. It returns the lowest number
// of keys found in a round, and the number of all failures.
func (c *guideClient) readUntil(ctx context.Context, expected *atomic.Int64) outcome {
	GinkgoHelper()
	seen := all(guideKeys)
	Eventually(ctx, func() int64 {
		found := c.read(guideKeys)
		seen.succeeded = min(seen.succeeded, found.succeeded)
		seen.failed += found.failed
		seen.firstFailure = cmp.Or(seen.firstFailure, found.firstFailure)
		return int64(found.succeeded) - expected.Load()
	}).WithTimeout(4*time.Minute).WithPolling(guidePeriod).Should(BeZero(), "keys that %s still finds where they no longer belong", c.name)
	return seen
}

// keptOnRing returns how many keys have the same owner before and after a change.
func keptOnRing(before, after []string) int {
	GinkgoHelper()
	kept, was, is := 0, ringOf(before), ringOf(after)
	for number := range guideKeys {
		if key := traffic.Key(number + 1); was.Owner(key) == is.Owner(key) {
			kept++
		}
	}
	return kept
}

func ringOf(addresses []string) *traffic.Ring {
	GinkgoHelper()
	var servers []traffic.Server
	for _, address := range addresses {
		servers = append(servers, serverOf(address))
	}
	return clustertest.Must(traffic.NewRing(servers...))
}

// serverOf returns the server with this IP address. The address is also its name on the ring: clients that use only DNS know no other.
func serverOf(address string) traffic.Server {
	return traffic.Server{Name: address, Address: net.JoinHostPort(address, strconv.Itoa(traffic.Port))}
}

// addresses returns the IP addresses of the nodes that are ready and not terminating, sorted.
func (g *guide) addresses(ctx context.Context) []string {
	GinkgoHelper()
	var addresses []string
	for _, pod := range k8s.Pods(ctx, g.mc) {
		if clustertest.Ready(&pod) {
			addresses = append(addresses, pod.Status.PodIP)
		}
	}
	slices.Sort(addresses)
	return addresses
}

// mustBeInDNS fails unless the Service's name and its SRV records resolve to the nodes.
func (g *guide) mustBeInDNS(ctx context.Context) {
	GinkgoHelper()
	nodes := g.addresses(ctx)
	Expect(resolver().LookupHost(ctx, g.service)).To(ConsistOf(nodes))
	_, records, err := resolver().LookupSRV(ctx, "memcached", "tcp", g.service)
	Expect(err).NotTo(HaveOccurred())
	var targets []string
	for _, record := range records {
		Expect(record.Port).To(BeEquivalentTo(traffic.Port))
		Expect(record.Target).To(HaveSuffix("." + g.service))
		targets = append(targets, clustertest.Must(resolver().LookupHost(ctx, record.Target))...)
	}
	Expect(targets).To(ConsistOf(nodes))
}

// toolsMustCount fails unless the documented command-line tools find all nodes and keys.
func (g *guide) toolsMustCount(ctx context.Context) {
	GinkgoHelper()
	counts := regexp.MustCompile(`(\S+) has (\d+) items`).FindAllStringSubmatch(runBlock(ctx, g.blocks["tools"], "MEMCACHED_SERVICE="+g.service), -1)
	var nodes []string
	items := 0
	for _, count := range counts {
		nodes = append(nodes, count[1])
		items += clustertest.Must(strconv.Atoi(count[2]))
	}
	Expect(nodes).To(ConsistOf(g.addresses(ctx)))
	Expect(items).To(Equal(guideKeys))
}
