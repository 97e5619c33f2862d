// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// Servers returns the nodes in the status of a Memcached as clients use them.
func (c *Cluster) Servers(ctx context.Context, mc *cachev1alpha1.Memcached) []traffic.Server {
	GinkgoHelper()
	return Must(traffic.Servers(ctx, c, mc.Namespace, mc.Status.Nodes))
}

// NewClient returns a client of all nodes of a Memcached.
func (c *Cluster) NewClient(ctx context.Context, mc *cachev1alpha1.Memcached) *traffic.Client {
	GinkgoHelper()
	return c.NewClientOf(c.Servers(ctx, mc)...)
}

// NewClientOf returns a client of these servers. It is closed when the spec ends, or the container if that made it.
func (c *Cluster) NewClientOf(servers ...traffic.Server) *traffic.Client {
	GinkgoHelper()
	cache := traffic.NewClient(Must(traffic.NewRing(servers...)), c.Dial)
	DeferCleanup(cache.Close)
	return cache
}

// ConnectTo connects to a node until the spec ends, or the container if that made it.
func (c *Cluster) ConnectTo(ctx context.Context, address string) *traffic.Conn {
	GinkgoHelper()
	conn := Must(traffic.Connect(ctx, c.Dial, address))
	DeferCleanup(func() { _ = conn.Close() })
	return conn
}

// MustServe fails unless the nodes of a Memcached store keys and give all of them back.
func (c *Cluster) MustServe(ctx context.Context, mc *cachev1alpha1.Memcached, keys int) {
	GinkgoHelper()
	MustStore(ctx, c.NewClient(ctx, mc), keys)
}

// MustStore writes keys and reads all of them back.
func MustStore(ctx context.Context, cache *traffic.Client, keys int) {
	GinkgoHelper()
	Expect(cache.Write(ctx, keys, 100)).To(Succeed())
	MustFind(ctx, cache, keys)
}

// MustFind fails unless all keys are found.
func MustFind(ctx context.Context, cache *traffic.Client, keys int) {
	GinkgoHelper()
	Expect(cache.Read(ctx, keys)).To(Equal(traffic.Hits{Keys: keys, Hits: keys}))
}

// Reader reads the same keys of a cache all the time, as an application does.
type Reader struct {
	// Stop ends the reading. The counts are complete when it returns.
	Stop func()
	// Rounds counts how often all keys were read, Missing the keys that were not found.
	Rounds, Missing int
}

// StartReading reads keys until Stop, or the end of the spec.
func StartReading(ctx context.Context, cache *traffic.Client, keys int) *Reader {
	r := &Reader{}
	r.Stop = InBackground(ctx, func(ctx context.Context) {
		for ctx.Err() == nil {
			if hits, err := cache.Read(ctx, keys); err == nil {
				r.Rounds++
				r.Missing += hits.Keys - hits.Hits
			}
		}
	})
	return r
}

// InBackground runs a function until stop or the end of the spec. Stop waits for the end of the function.
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

// Every does something at once and then periodically, until the context ends.
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
