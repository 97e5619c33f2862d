// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const gib = 1 << 30

// calm returns the load of a node that has run for two days, evicts nothing, and uses 900 MiB.
func calm(edit ...func(*load)) load {
	l := load{
		node: "node", pages: 900 << 20, maxConnections: 1000,
		figures: figures{
			UptimeSeconds: 48 * 3600, Hits: 90, Misses: 10, HitRatio: ptr.To(0.9), GetsPerSecond: ptr.To(100.0), EvictionsPerSecond: ptr.To(0.0),
			Connections: 10,
		},
	}
	for _, e := range edit {
		e(&l)
	}
	return l
}

// evicting makes a node evict items that had not been read for this time. hits is the hit ratio in percent.
func evicting(age time.Duration, hits int64) func(*load) {
	return func(l *load) {
		l.Evictions, l.EvictionsPerSecond, l.evictedAge = 1000, ptr.To(5.0), age
		l.hitsNow, l.missesNow, l.HitRatioNow = hits, 100-hits, ratio(hits, 100-hits)
	}
}

// evictItems makes all nodes evict items that had not been read for ten minutes. Earlier, they have evicted items that had not been
// read for three minutes.
func evictItems(_ *testing.T, w *world) {
	for _, server := range w.memcacheds {
		server.grow = []string{"evictions", "get_hits", "get_misses", "items:9:evicted"}
		server.different["items:1:evicted"], server.different["items:1:evicted_time"] = "5", "180"
		server.different["items:9:evicted"], server.different["items:9:evicted_time"] = "5", "600"
	}
}

// restartedInFile gives all nodes 1 GiB for items in a file, an uptime of two days, and no evictions. The argument is the number of
// pages of slab class 9. The statistic total_malloced is 0, as after a restart that reuses the file.
func restartedInFile(pages string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		inFile(3)(t, w)
		for _, server := range w.memcacheds {
			server.different["uptime"], server.different["evictions"] = "172800", "0"
			server.different["limit_maxbytes"], server.different["9:total_pages"] = "1073741824", pages
			slabs := server.stats["slabs"]
			slabs[len(slabs)-1] = "STAT total_malloced 0"
		}
	}
}

func TestRecommend(t *testing.T) {
	for name, test := range map[string]struct {
		now   plan
		nodes []load
		want  plan
		says  []string
	}{
		"nothing to do": {plan{gib, 3}, []load{calm()}, plan{gib, 3}, []string{"Nothing was evicted: the memory suffices."}},
		"nobody reads": {
			plan{gib, 3},
			[]load{calm(func(l *load) { l.Hits, l.Misses = 0, 0 })},
			plan{gib, 3},
			[]string{"Nobody has read"},
		},
		"young": {
			plan{gib, 3},
			[]load{calm(evicting(time.Minute, 50)), calm(func(l *load) { l.UptimeSeconds = 60 })},
			plan{gib, 3},
			[]string{"has run for only 60s"},
		},
		"thrashing": {
			plan{gib, 3},
			[]load{calm(evicting(time.Minute, 95)), calm(evicting(2*time.Minute, 95))},
			plan{2 * gib, 3},
			[]string{"only 60s, and 95.0% of the reads hit"},
		},
		"low hit ratio": {plan{gib, 3}, []load{calm(evicting(5*time.Hour, 50))}, plan{2 * gib, 3}, []string{"only 5h, and 50.0%"}},
		"never read": {
			plan{gib, 3},
			[]load{calm(evicting(time.Minute, 50), func(l *load) { l.evictedUnread = 501 })},
			plan{2 * gib, 3},
			[]string{"only 60s", "never read"},
		},
		"evicts the old": {plan{gib, 3}, []load{calm(evicting(time.Hour, 90))}, plan{gib, 3}, []string{"had not been read for 60m"}},
		"evicted once":   {plan{gib, 3}, []load{calm(func(l *load) { l.Evictions = 1 })}, plan{gib, 3}, []string{"busiest hour"}},
		"spare memory": {
			plan{gib, 3},
			[]load{calm(func(l *load) { l.pages = 100 << 20 }), calm(func(l *load) { l.pages = 170 << 20 })},
			plan{256 << 20, 3},
			[]string{"no node uses more than 170.0Mi"},
		},
		"spare memory of a day's half": {
			plan{gib, 3},
			[]load{calm(func(l *load) { l.pages, l.UptimeSeconds = 0, 12*3600 })},
			plan{gib, 3},
			[]string{"Nothing was evicted: the memory suffices."},
		},
		"almost no memory": {plan{gib, 3}, []load{calm(func(l *load) { l.pages = 1 })}, plan{smallestNode, 3}, []string{"no node uses"}},
		"large nodes":      {plan{16 * gib, 3}, []load{calm(evicting(time.Minute, 50))}, plan{16 * gib, 6}, []string{"only 60s", "More nodes"}},
		"one node":         {plan{gib, 1}, []load{calm()}, plan{512 << 20, 3}, []string{"suffices", "A single node"}},
		"busy": {
			plan{gib, 2},
			[]load{calm(func(l *load) { l.GetsPerSecond = ptr.To(500_000.0) })},
			plan{gib, 3},
			[]string{"suffices", "500000 reads a second"},
		},
		"hot key": {
			plan{gib, 3},
			[]load{calm(), calm(), calm(func(l *load) { l.GetsPerSecond, l.node = ptr.To(9800.0), "hot" })},
			plan{gib, 3},
			[]string{"suffices", "hot serves 98% of the reads"},
		},
		"connections": {plan{gib, 3}, []load{calm(func(l *load) { l.Connections = 801 })}, plan{gib, 3}, []string{"suffices", "maxConnections"}},
		"refused":     {plan{gib, 3}, []load{calm(func(l *load) { l.rejected = 7 })}, plan{gib, 3}, []string{"suffices", "7 were refused"}},
		"large items": {plan{gib, 3}, []load{calm(func(l *load) { l.tooLarge = 7 })}, plan{gib, 3}, []string{"suffices", "maxItemSize"}},
	} {
		got, reasons := recommend(test.now, smallestNode, test.nodes)
		if got != test.want || !slices.EqualFunc(reasons, test.says, strings.Contains) {
			t.Errorf("%s: got %+v because %q, want %+v because %q", name, got, reasons, test.want, test.says)
		}
	}
}

// With storage.type MemoryFile, the API refuses less than 128 MiB. It always refuses less than twice maxItemSize.
func TestSmallestNodes(t *testing.T) {
	mc := newCache("shop", "pages", 1, cachev1alpha1.WorkloadStatefulSet)
	if got := smallestOf(mc); got != 64<<20 {
		t.Errorf("in memory: %d", got)
	}
	mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile
	advice, _ := recommend(plan{128 << 20, 1}, smallestOf(mc), []load{calm()})
	if want := (plan{128 << 20, 3}); advice != want {
		t.Errorf("in a file: got %+v, want %+v", advice, want)
	}
	mc.Spec.Config.MaxItemSize = ptr.To(resource.MustParse("100Mi"))
	if got := smallestOf(mc); got != 256<<20 {
		t.Errorf("with items of 100 MiB: %d", got)
	}
}

// TestPlanCost has the costs of the table in docs/concepts/changes.md.
func TestPlanCost(t *testing.T) {
	now, larger, smaller, wider := plan{gib, 3}, plan{2 * gib, 3}, plan{gib / 2, 3}, plan{2 * gib, 6}
	limited := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	}
	inPlace := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceIfPossible
	}
	inFile := func(mc *cachev1alpha1.Memcached) { mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile }
	filled := func(mc *cachev1alpha1.Memcached) { mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: "twin"} }
	deployment := func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadDeployment }
	const empties = "empties the nodes one after the other"
	for name, test := range map[string]struct {
		next plan
		edit []func(*cachev1alpha1.Memcached)
		want string
	}{
		"larger":                  {larger, nil, empties},
		"larger with a limit":     {larger, []func(*cachev1alpha1.Memcached){limited}, "loses no item by the memory"},
		"larger in place":         {larger, []func(*cachev1alpha1.Memcached){inPlace}, "loses no item by the memory if pods may change in place"},
		"larger file":             {larger, []func(*cachev1alpha1.Memcached){limited, inFile}, empties},
		"larger in a Deployment":  {larger, []func(*cachev1alpha1.Memcached){limited, deployment}, empties},
		"larger with a twin":      {larger, []func(*cachev1alpha1.Memcached){filled}, "makes each node copy its items again from twin"},
		"with a limit and a twin": {larger, []func(*cachev1alpha1.Memcached){filled, limited}, "loses no item by the memory"},
		"smaller with a limit":    {smaller, []func(*cachev1alpha1.Memcached){limited}, empties},
		"more nodes":              {plan{gib, 6}, nil, "moves keys to other nodes"},
		"more and larger":         {wider, nil, empties + " and moves keys to other nodes"},
	} {
		mc := newCache("shop", "pages", 3, cachev1alpha1.WorkloadStatefulSet)
		for _, edit := range test.edit {
			edit(mc)
		}
		if got := planCost(mc, now, test.next); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// While config.memory changes, some nodes have more memory than others. The command then recommends nothing.
func TestSizeDuringAChangeOfMemory(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	w.memcacheds["pages-0"].different["limit_maxbytes"] = "1073741824"
	got := w.run(t, "", "size", "pages", "--interval=1ms")
	if !strings.Contains(got.stderr, "different memory: measure when its change has ended") || strings.Contains(got.stdout, "kubectl patch") {
		t.Error(got)
	}
}
