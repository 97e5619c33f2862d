// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// Servers returns a server for each node in status.nodes of a Memcached. The server's name is the node's host in status.servers
// or, if status.servers lacks the node, the pod's name.
func (c *Cluster) Servers(ctx context.Context, mc *cachev1alpha1.Memcached) []traffic.Server {
	GinkgoHelper()
	names := map[string]string{}
	for _, server := range mc.Status.Servers {
		host, _, err := net.SplitHostPort(server)
		Expect(err).NotTo(HaveOccurred())
		names[PodOf(host)] = host
	}
	servers := Must(traffic.Servers(ctx, c, mc.Namespace, mc.Status.Nodes))
	for i := range servers {
		servers[i].Name = cmp.Or(names[servers[i].Name], servers[i].Name)
	}
	return servers
}

// PodOf returns the name of a server's pod: the first label of the server's DNS name.
func PodOf(server string) string {
	pod, _, _ := strings.Cut(server, ".")
	return pod
}

// NewClient returns a client of all nodes in the status of a Memcached. NewClientOf says when its connections are closed.
func (c *Cluster) NewClient(ctx context.Context, mc *cachev1alpha1.Memcached) *traffic.Client {
	GinkgoHelper()
	return c.NewClientOf(c.Servers(ctx, mc)...)
}

// NewClientOf returns a client of these servers. Its connections are closed at the end of the calling spec or Ginkgo container. A
// client that is used later connects again.
func (c *Cluster) NewClientOf(servers ...traffic.Server) *traffic.Client {
	GinkgoHelper()
	cache := traffic.NewClient(Must(traffic.NewRing(servers...)), c.Dial)
	DeferCleanup(cache.Close)
	return cache
}

// ConnectTo connects to a node. The connection is closed at the end of the calling spec or Ginkgo container.
func (c *Cluster) ConnectTo(ctx context.Context, address string) *traffic.Conn {
	GinkgoHelper()
	conn := Must(traffic.Connect(ctx, c.Dial, address))
	DeferCleanup(func() { _ = conn.Close() })
	return conn
}

// MustServe stores a number of keys in a Memcached, and fails unless it finds all of them.
func (c *Cluster) MustServe(ctx context.Context, mc *cachev1alpha1.Memcached, keys int) {
	GinkgoHelper()
	MustStore(ctx, c.NewClient(ctx, mc), keys)
}

// MustStore stores a number of keys, and fails unless it finds all of them.
func MustStore(ctx context.Context, cache *traffic.Client, keys int) {
	GinkgoHelper()
	Expect(cache.Write(ctx, keys, 100)).To(Succeed())
	MustFind(ctx, cache, keys)
}

// MustFind fails unless it finds all keys that MustStore has stored. Both calls must get the same number of keys.
func MustFind(ctx context.Context, cache *traffic.Client, keys int) {
	GinkgoHelper()
	Expect(cache.Read(ctx, keys)).To(Equal(traffic.Hits{Keys: keys, Hits: keys}))
}

// FullCache is a Memcached that Fill has filled. It remembers the keys and the incarnations of the pods.
type FullCache struct {
	cluster *Cluster
	mc      *cachev1alpha1.Memcached
	client  *traffic.Client
	keys    int
	pods    map[string]Incarnation
}

// Fill stores a number of keys in a Memcached.
func (c *Cluster) Fill(ctx context.Context, mc *cachev1alpha1.Memcached, keys int) *FullCache {
	GinkgoHelper()
	full := &FullCache{cluster: c, mc: mc, client: c.NewClient(ctx, mc), keys: keys, pods: c.Incarnations(ctx, mc)}
	Expect(full.pods).To(HaveLen(int(mc.Spec.Size)))
	full.client.SetTimeout(10 * time.Second) // on a busy machine, a late response does not mean a lost key
	MustStore(ctx, full.client, keys)
	return full
}

// MustBeUntouched fails if a pod was replaced, a container restarted or a key lost since Fill.
func (f *FullCache) MustBeUntouched(ctx context.Context) {
	GinkgoHelper()
	Expect(f.cluster.Incarnations(ctx, f.mc)).To(Equal(f.pods), "pods and restarts")
	MustFind(ctx, f.client, f.keys)
}

// MustSurvive calls what(). Meanwhile, it reads all keys again and again. It fails if a key is missing in a round of reads, if fewer than
// 11 rounds succeed, or if MustBeUntouched fails afterwards.
func (f *FullCache) MustSurvive(ctx context.Context, what func()) {
	GinkgoHelper()
	var rounds, missing int
	stop := InBackground(ctx, func(ctx context.Context) {
		Every(ctx, 50*time.Millisecond, func() {
			if hits, err := f.client.Read(ctx, f.keys); err == nil {
				rounds++
				missing += hits.Keys - hits.Hits
			}
		})
	})
	what()
	stop()
	Expect(rounds).To(BeNumerically(">", 10))
	Expect(missing).To(BeZero(), "keys that were missing, in %d rounds", rounds)
	f.MustBeUntouched(ctx)
	AddReportEntry(fmt.Sprintf("0 of %d pods restarted, 0 of %d keys lost in each of %d rounds", len(f.pods), f.keys, rounds))
}

// InBackground calls run in the background, with a context that outlives ctx. A call of stop cancels this context, and waits until run
// returns. The end of the calling spec or Ginkgo container does the same.
func InBackground(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	DeferCleanup(stop)
	return stop
}

// Every calls the function do at once and then once per period, until the context ends.
func Every(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
