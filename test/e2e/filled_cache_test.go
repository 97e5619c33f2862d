// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// filledKeys take a small part of the memory, so that nothing is evicted.
const filledKeys = 20_000

// filledCache is a Memcached with keys, and a table of how many are left after each change.
type filledCache struct {
	mc   *cachev1alpha1.Memcached
	rows [][]string
}

// snapshot is the servers of a client at one time, and their incarnations by name.
type snapshot struct {
	servers      []traffic.Server
	ring         *traffic.Ring
	incarnations map[string]clustertest.Incarnation
}

// keepsAll makes a change that must not touch any node.
func (c *filledCache) keepsAll(ctx context.Context, title string, change func()) {
	GinkgoHelper()
	before, after := c.keeps(ctx, title, 1, 1, change)
	Expect(after.incarnations).To(Equal(before.incarnations), "pods and restarts")
}

// keeps makes a change, and then reads the keys from the servers in the status. The hits must be those that the ring predicts,
// and a ratio from least to most.
func (c *filledCache) keeps(ctx context.Context, title string, least, most float64, change func()) (before, after snapshot) {
	GinkgoHelper()
	By(title)
	before = c.snapshot(ctx)
	full := fill(ctx, before)
	change()
	k8s.UntilReady(ctx, c.mc)
	after = c.snapshot(ctx)
	hits := clustertest.Must(k8s.NewClientOf(after.servers...).Read(ctx, filledKeys))
	gone, restarted := before.lost(after)
	come, _ := after.lost(before)
	c.rows = append(c.rows, []string{
		title, percent(full.Ratio()), percent(hits.Ratio()), fmt.Sprint(gone), fmt.Sprint(come), fmt.Sprint(restarted),
	})
	Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: keptBy(before, after)}), "the keys whose owner is the same process")
	Expect(hits.Ratio()).To(And(BeNumerically(">=", least), BeNumerically("<=", most)), "the hit ratio")
	return before, after
}

// fill writes all keys, unless all are there: it proves more if the same items survive several changes. It empties each server
// first, which may have kept old values of keys that another server came to own.
func fill(ctx context.Context, now snapshot) traffic.Hits {
	GinkgoHelper()
	cache := k8s.NewClientOf(now.servers...)
	full := traffic.Hits{Keys: filledKeys, Hits: filledKeys}
	if hits := clustertest.Must(cache.Read(ctx, filledKeys)); hits.Hits == filledKeys {
		Expect(hits).To(Equal(full))
		return hits
	}
	for _, server := range now.servers {
		Expect(k8s.ConnectTo(ctx, server.Address).Command(ctx, "flush_all")).To(Equal("OK"))
	}
	clustertest.MustStore(ctx, cache, filledKeys)
	return full
}

// snapshot returns the servers that the status of the Memcached names now.
func (c *filledCache) snapshot(ctx context.Context) snapshot {
	GinkgoHelper()
	servers := k8s.Servers(ctx, c.mc)
	return snapshot{
		servers: servers, ring: clustertest.Must(traffic.NewRing(servers...)),
		incarnations: clustertest.Incarnations(k8s.Pods(ctx, c.mc)),
	}
}

// lost counts the pods that are missing in a later snapshot, and those that have restarted.
func (s snapshot) lost(later snapshot) (gone, restarted int) {
	for name, was := range s.incarnations {
		switch other := later.incarnations[name]; {
		case other.Pod != was.Pod:
			gone++
		case other.Restarts != was.Restarts:
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

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*ratio) }
