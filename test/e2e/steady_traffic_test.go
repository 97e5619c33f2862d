// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// roundPeriod is how often steady traffic reads and writes its keys.
	roundPeriod = 100 * time.Millisecond
	// keysPerRound are so many that each of a few nodes has some of them.
	keysPerRound = 100
)

// steadyTraffic is an application that reads and writes the same keys on all nodes of a cache all the time. Each key that it
// reads was written one round before.
type steadyTraffic struct {
	cache *traffic.Client
	mutex sync.Mutex
	seen  served
}

// served is how a cache served steady traffic.
type served struct {
	begin           time.Time
	rounds          int
	reads, hits     int
	slowest         time.Duration
	firstOfFailures string
}

// startTraffic starts steady traffic to the nodes of a cache until the spec ends.
func startTraffic(ctx context.Context, mc *cachev1alpha1.Memcached) *steadyTraffic {
	GinkgoHelper()
	t := &steadyTraffic{cache: k8s.NewClient(ctx, mc), seen: served{begin: time.Now()}}
	Expect(t.cache.Write(ctx, keysPerRound, 100)).To(Succeed())
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { every(ctx, roundPeriod, func() { t.round(ctx) }) })
	DeferCleanup(func() {
		stop()
		running.Wait()
	})
	return t
}

// round reads all keys and writes them again.
func (t *steadyTraffic) round(ctx context.Context) {
	begin := time.Now()
	hits, failure := t.cache.Read(ctx, keysPerRound)
	if failure == nil {
		failure = t.cache.Write(ctx, keysPerRound, 100)
	}
	if ctx.Err() != nil {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.seen.rounds++
	t.seen.reads += hits.Keys
	t.seen.hits += hits.Hits
	t.seen.slowest = max(t.seen.slowest, time.Since(begin))
	if hits.Hits == hits.Keys && failure == nil || t.seen.firstOfFailures != "" {
		return
	}
	t.seen.firstOfFailures = fmt.Sprintf("after %s: %+v, %v", begin.Sub(t.seen.begin), hits, failure)
}

// served returns how the cache has served so far.
func (t *steadyTraffic) served() served {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.seen
}

// firstFailure returns the first round that was not served, if any.
func (t *steadyTraffic) firstFailure() string { return t.served().firstOfFailures }

// mustBeServed fails unless everything was read and written so far, at least once a second.
func (t *steadyTraffic) mustBeServed() {
	GinkgoHelper()
	seen := t.served()
	Expect(seen.firstOfFailures).To(BeEmpty(), "memcached must serve all the time")
	Expect(seen.hits).To(Equal(seen.reads))
	Expect(seen.rounds).To(BeNumerically(">", time.Since(seen.begin)/time.Second), "rounds, if there is one in each second")
}

// String is a cell of a table.
func (s served) String() string {
	return fmt.Sprintf("%d of %d reads hit, no write failed, slowest round %s", s.hits, s.reads, s.slowest.Round(time.Millisecond))
}
