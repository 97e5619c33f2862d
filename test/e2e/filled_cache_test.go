// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// filledKeys is how many keys a filled cache holds. They take a small part of the memory, so that nothing is evicted.
const filledKeys = 20_000

var workloads = []cachev1alpha1.WorkloadKind{cachev1alpha1.WorkloadDeployment, cachev1alpha1.WorkloadStatefulSet}

// filledCaches are caches with keys, one for each Kind of workload. All caches get each change at the same time.
type filledCaches struct {
	caches []*filledCache
}

// filledCache is a cache of three nodes with keys.
type filledCache struct {
	mc *cachev1alpha1.Memcached
	// full is the last snapshot in which the cache held all keys.
	full snapshot
}

// ratio is a range of hit ratios.
type ratio struct{ least, most float64 }

// ratios are the expected ranges, by Kind of workload.
type ratios map[cachev1alpha1.WorkloadKind]ratio

func ofBoth(least, most float64) ratios {
	return ratios{cachev1alpha1.WorkloadDeployment: {least, most}, cachev1alpha1.WorkloadStatefulSet: {least, most}}
}

// twoThirds is the hit ratio of a StatefulSet after one of three nodes has lost its keys: at least 1 - 1/3 - 2 %.
var twoThirds = ratio{0.6467, 0.7}

// snapshot is a cache at one time: its servers, their ring, and the UID and the restarts of each pod, by the pod's name.
type snapshot struct {
	servers      []traffic.Server
	ring         *traffic.Ring
	incarnations map[string]clustertest.Incarnation
}

// newFilledCaches creates the caches. The name of the namespace is fixed, because it is part of the server names of
// the StatefulSet. These names determine which server owns a key, so the results are the same in each run.
func newFilledCaches(ctx context.Context) *filledCaches {
	GinkgoHelper()
	namespace := k8s.NewNamespaceNamed(ctx, "survival")
	f := &filledCaches{}
	for _, workload := range workloads {
		name := strings.ToLower(string(workload))
		f.caches = append(f.caches, &filledCache{
			mc: k8s.CreateMemcached(ctx, namespace, 3, clustertest.Named(name), clustertest.RunBy(workload), leavesQuickly),
		})
	}
	f.untilReady(ctx)
	return f
}

// leavesQuickly makes deleted nodes end sooner, for specs in which no client has to notice the deletion.
func leavesQuickly(mc *cachev1alpha1.Memcached) {
	mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](1)
}

func (f *filledCaches) untilReady(ctx context.Context) {
	GinkgoHelper()
	for _, c := range f.caches {
		k8s.UntilReady(ctx, c.mc)
	}
}

func (f *filledCaches) change(ctx context.Context, edit func(*cachev1alpha1.Memcached)) {
	GinkgoHelper()
	for _, c := range f.caches {
		k8s.Change(ctx, c.mc, func() { edit(c.mc) })
	}
}

// keepAll makes a change that must not touch any node.
func (f *filledCaches) keepAll(ctx context.Context, title string, change func()) {
	GinkgoHelper()
	f.keep(ctx, title, ofBoth(1, 1), change)
	for _, c := range f.caches {
		Expect(c.snapshot(ctx).incarnations).To(Equal(c.full.incarnations), "pods and restarts of %s", c.mc.Name)
	}
}

// keep fills the caches, makes a change, and checks which keys clients still find.
func (f *filledCaches) keep(ctx context.Context, title string, expected ratios, change func()) {
	GinkgoHelper()
	for _, c := range f.caches {
		c.full = c.snapshot(ctx)
		c.full.fill(ctx)
	}
	By(title)
	change()
	f.untilReady(ctx)
	for _, c := range f.caches {
		c.mustKeep(ctx, title, expected[c.mc.Spec.Workload])
	}
}

// mustKeep reads all keys. It fails unless there are exactly as many hits as keptBy counts, and the hit
// ratio is in the expected range.
func (c *filledCache) mustKeep(ctx context.Context, title string, expected ratio) {
	GinkgoHelper()
	now := c.snapshot(ctx)
	hits := clustertest.Must(k8s.NewClientOf(now.servers...).Read(ctx, filledKeys))
	Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: keptBy(c.full, now)}),
		"%s: the keys of %s whose owner is the same process", title, c.mc.Name)
	Expect(hits.Ratio()).To(And(BeNumerically(">=", expected.least), BeNumerically("<=", expected.most)),
		"%s: the hit ratio of %s", title, c.mc.Name)
}

// snapshot returns the current snapshot. status.servers must have the fixed names of a StatefulSet's servers, and be
// empty for a Deployment.
func (c *filledCache) snapshot(ctx context.Context) snapshot {
	GinkgoHelper()
	var fixed []string
	if c.mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		for i := range c.mc.Spec.Size {
			fixed = append(fixed, fmt.Sprintf("%[1]s-%[2]d.%[1]s.%[3]s.svc:%[4]d", c.mc.Name, i, c.mc.Namespace, traffic.Port))
		}
	}
	Expect(c.mc.Status.Servers).To(Equal(fixed))
	servers := k8s.Servers(ctx, c.mc)
	return snapshot{
		servers: servers, ring: clustertest.Must(traffic.NewRing(servers...)),
		incarnations: clustertest.Incarnations(k8s.Pods(ctx, c.mc)),
	}
}

// fill does nothing if all keys exist, because items that survive several changes are a stronger test. Otherwise, it empties each
// server and writes all keys. It empties them because a server may have old values of keys that another server owned meanwhile.
func (s snapshot) fill(ctx context.Context) {
	GinkgoHelper()
	cache := k8s.NewClientOf(s.servers...)
	all := traffic.Hits{Keys: filledKeys, Hits: filledKeys}
	if hits := clustertest.Must(cache.Read(ctx, filledKeys)); hits == all {
		return
	}
	for _, server := range s.servers {
		Expect(k8s.ConnectTo(ctx, server.Address).Command(ctx, "flush_all")).To(Equal("OK"))
	}
	clustertest.MustStore(ctx, cache, filledKeys)
}

// lost counts the pods that are missing in a later snapshot, and the remaining pods that have restarted.
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

// keptBy returns how many keys have the same owner in both snapshots, in the same pod without a restart of its container.
func keptBy(before, after snapshot) int {
	kept := 0
	for number := range filledKeys {
		key := traffic.Key(number + 1)
		owner := before.ring.Owner(key).Name
		pod := clustertest.PodOf(owner)
		if after.ring.Owner(key).Name == owner && after.incarnations[pod] == before.incarnations[pod] {
			kept++
		}
	}
	return kept
}
