// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// What a cache is filled with: a small part of its memory, so that nothing is evicted.
const (
	filledKeys      = 20_000
	filledValueSize = 100
)

// filledCache is a Memcached in which clients have written, and a table of what is left of that after changes.
type filledCache struct {
	mc   *cachev1alpha1.Memcached
	rows [][]string
}

// snapshot is who the servers of a client are at a moment, and which runs of memcached they are.
type snapshot struct {
	servers      []traffic.Server
	ring         *traffic.Ring
	incarnations map[string]incarnation // by the name of the server
}

// incarnation is one run of memcached. What it holds ends with it.
type incarnation struct {
	pod      types.UID
	restarts int32
}

// keepsAll makes a change that must not touch any node.
func (c *filledCache) keepsAll(ctx context.Context, title string, change func()) {
	GinkgoHelper()
	before, after := c.keeps(ctx, title, 1, 1, change)
	Expect(after.incarnations).To(Equal(before.incarnations), "pods and restarts")
}

// keeps makes a change and reads, with the servers that the status then names, what was written before. It must be what the
// ring says, and that a ratio from least to most.
func (c *filledCache) keeps(ctx context.Context, title string, least, most float64, change func()) (before, after snapshot) {
	GinkgoHelper()
	By(title)
	before = c.snapshot(ctx)
	full := fill(ctx, before)
	change()
	untilReady(ctx, c.mc)
	after = c.snapshot(ctx)
	hits, err := newClient(after.servers).Read(ctx, filledKeys)
	Expect(err).NotTo(HaveOccurred())
	gone, restarted := before.lost(after)
	come, _ := after.lost(before)
	c.rows = append(c.rows, []string{
		title, percent(full.Ratio()), percent(hits.Ratio()), fmt.Sprint(gone), fmt.Sprint(come), fmt.Sprint(restarted),
	})
	Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: keptBy(before, after)}), "the keys whose owner is the same process")
	Expect(hits.Ratio()).To(And(BeNumerically(">=", least), BeNumerically("<=", most)), "the hit ratio")
	return before, after
}

// fill writes all keys unless they are there: that the same items survive several changes says more. Each server is emptied
// before, for it may have kept keys that another one came to own, and give their old values when it owns them again.
func fill(ctx context.Context, now snapshot) traffic.Hits {
	GinkgoHelper()
	cache := newClient(now.servers)
	hits, err := cache.Read(ctx, filledKeys)
	Expect(err).NotTo(HaveOccurred())
	if hits.Hits < filledKeys {
		for _, server := range now.servers {
			empty(ctx, server)
		}
		Expect(cache.Write(ctx, filledKeys, filledValueSize)).To(Succeed())
		hits, err = cache.Read(ctx, filledKeys)
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: filledKeys}))
	return hits
}

func empty(ctx context.Context, server traffic.Server) {
	GinkgoHelper()
	conn, err := traffic.Connect(ctx, dial, server.Address)
	Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	Expect(conn.Command(ctx, "flush_all")).To(Equal("OK"))
}

// snapshot returns who the servers are that the status of the Memcached names.
func (c *filledCache) snapshot(ctx context.Context) snapshot {
	GinkgoHelper()
	s := snapshot{servers: serversOf(ctx, c.mc), incarnations: map[string]incarnation{}}
	for _, pod := range podsOf(ctx, c.mc) {
		s.incarnations[pod.Name] = incarnation{pod.UID, restartsOf(&pod)}
	}
	var err error
	s.ring, err = traffic.NewRing(s.servers...)
	Expect(err).NotTo(HaveOccurred())
	return s
}

// lost counts the pods that are not there any more in another snapshot, and those that are but have restarted.
func (s snapshot) lost(later snapshot) (gone, restarted int) {
	for name, was := range s.incarnations {
		switch other := later.incarnations[name]; {
		case other.pod != was.pod:
			gone++
		case other.restarts != was.restarts:
			restarted++
		}
	}
	return gone, restarted
}

// keptBy returns how many keys have the same process as their owner in both snapshots.
func keptBy(before, after snapshot) int {
	kept := 0
	for number := range filledKeys {
		key := traffic.Key(number + 1)
		owner := before.ring.Owner(key).Name
		if after.ring.Owner(key).Name == owner && after.incarnations[owner] == before.incarnations[owner] {
			kept++
		}
	}
	return kept
}

// untilReason waits until a condition has a reason, for the latest spec.
func (c *filledCache) untilReason(ctx context.Context, condition, reason string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(c.mc), c.mc)).To(Succeed())
		found := apimeta.FindStatusCondition(c.mc.Status.Conditions, condition)
		g.Expect(found).NotTo(BeNil())
		g.Expect(found.Reason).To(Equal(reason), found.Message)
		g.Expect(found.ObservedGeneration).To(Equal(c.mc.Generation))
	}).Should(Succeed())
}

// untilGone waits until the status does not name a node any more.
func (c *filledCache) untilGone(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(c.mc), c.mc)).To(Succeed())
		g.Expect(slices.Contains(c.mc.Status.Nodes, name)).To(BeFalse())
	}).Should(Succeed())
}

func restartsOf(pod *corev1.Pod) int32 {
	var restarts int32
	for _, container := range pod.Status.ContainerStatuses {
		restarts += container.RestartCount
	}
	return restarts
}

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*ratio) }
