// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// The numbers in these tests were measured with memcached 1.6.45 (Debian) on 2 cores, kernel 6.18. They are VmHWM, the highest
// resident memory of the process. The load "mixed" has items of 100 B to 100 KB, distributed log-uniformly. The load "small" has
// values of 10 bytes (chunks of 96 bytes) until memcached evicts items and the hash table has stopped growing.

// usable is the number of clients that can connect with -c 1024, 4 threads and two listeners.
const usable = 1024 - 8 - 5*4 - 1

func sized(memory int64, threads, connections int32) sizing {
	return sizing{memory: memory * mebibyte, threads: threads, connections: connections}
}

func encrypted(s sizing) sizing {
	s.tls = true
	return s
}

func TestFloorExceedsWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		conditions string
		sizing     sizing
		measured   float64
	}{
		{"small, 4 threads", sized(64, 4, usable), 76.9},
		{"small, 4 threads, just below a doubling of the hash table", sized(72, 4, usable), 84.9},
		{"small, 4 threads, just past a doubling of the hash table", sized(73, 4, usable), 91.8},
		{"small, 4 threads", sized(256, 4, usable), 287.4},
		{"small, 4 threads", sized(1024, 4, usable), 1127.6},
		{"small, 4 threads", sized(1100, 4, usable), 1203.4},
		{"small, 4 threads, past a doubling", sized(1170, 4, usable), 1369.8},
		{"small, 4 threads", sized(4096, 4, usable), 4487.8},
		{"mixed, 4 threads", sized(64, 4, usable), 71.3},
		{"mixed, 4 threads", sized(256, 4, usable), 264.0},
		{"mixed, 4 threads", sized(1024, 4, usable), 1035.0},
		{"mixed, 4 threads", sized(4096, 4, usable), 4120.8},
		{"small until full, then every size: each slab class takes its first page", sized(64, 4, usable), 115.0},
		{"small until full, then every size, then 988 clients with a pending request, then mixed", sized(64, 4, 988), 119.4},
		{"the same fill, then 1000 clients whose gets fill all buffers", sized(64, 4, 1024), 157.0},
		{"the same fill, then 1000 clients whose gets fill all buffers, 16 threads", sized(256, 16, 1024), 446.3},
		{"items of 1 to 8 MB with -I 8m", sized(256, 4, usable), 277.1},
		{"items of 1 to 8 MB with -I 8m", sized(1024, 4, usable), 1042.1},
		{"TLS, small until full, then every size, then 987 clients with a pending request, then mixed", encrypted(sized(64, 4, 987)), 150.2},
		{"the same, just past a doubling of the hash table", encrypted(sized(73, 4, 987)), 163.1},
		{"the same, 16 threads and 927 clients", encrypted(sized(256, 16, 927)), 353.9},
		{"the same, 987 clients", encrypted(sized(512, 4, 987)), 642.6},
		{"idle, 1 thread, nothing stored", sized(0, 1, 1), 6.1},
		{"idle with TLS, after the first requests", encrypted(sized(0, 4, 1)), 13.3},
		{"idle, 32 threads, nothing stored", sized(0, 32, 1), 8.1},
	} {
		floor := float64(c.sizing.minimum()) / float64(mebibyte)
		if floor < c.measured+2 {
			t.Errorf("%s, -m %d: the floor is %.1f MiB, measured were %.1f", c.conditions, c.sizing.memory/mebibyte, floor, c.measured)
		}
	}
}

// TestFloorIsTheFormula checks the minimum of the default spec, and how much additional connections, threads, memory and TLS add to
// it.
func TestFloorIsTheFormula(t *testing.T) {
	base := sized(64, 4, 1024)
	if got := fmt.Sprintf("%.1f", float64(base.minimum())/float64(mebibyte)); got != "165.4" {
		t.Errorf("the floor of 64 MiB, 4 threads and 1024 connections is %s MiB, not 165.4", got)
	}
	for _, c := range []struct {
		name      string
		more      sizing
		kibibytes int64
	}{
		{"64 connections", sized(64, 4, 1088), 64 * 17},
		{"1024 connections", sized(64, 4, 2048), 1024 * 17},
		{"10 threads", sized(64, 14, 1024), 71 * 1024},
		{"a MiB", sized(65, 4, 1024), 1024},
		{"9 MiB, past a doubling of the hash table", sized(73, 4, 1024), 9*1024 + 6*1024},
		{"TLS", encrypted(base), 5*1024 + 1024*42},
		{"TLS and 1024 connections", encrypted(sized(64, 4, 2048)), 5*1024 + 1024*42 + 1024*59},
	} {
		if got := (c.more.minimum() - base.minimum() + kibibyte/2) / kibibyte; got != c.kibibytes {
			t.Errorf("%s costs %d KiB, not %d", c.name, got, c.kibibytes)
		}
	}
}

// TestBufferLimit checks read_buf_mem_limit against memcached's rules. Each thread may allocate its share in buffers of 16 KiB. A
// connection that has sent a part of a command keeps one buffer. A "get" of many keys keeps a response for each key until all are
// sent, 13 in each buffer. Even if all connections keep a buffer, a "get" of 5,000 keys must fit.
func TestBufferLimit(t *testing.T) {
	const buffer, responses, multiget = 16 * kibibyte, 13, 5000
	for _, c := range []struct {
		connections, threads int32
		mebibytes            int64
	}{
		{64, 1, 8},
		{65, 1, 9},
		{1024, 1, 23},
		{1024, 4, 44},
		{1024, 64, 464},
		{4096, 8, 120},
		{65536, 64, 1472},
	} {
		s := sizing{connections: c.connections, threads: c.threads}
		if got := s.buffers() / mebibyte; got != c.mebibytes || s.buffers()%mebibyte != 0 {
			t.Errorf("%d connections, %d threads: the limit is %d MiB, not %d", c.connections, c.threads, got, c.mebibytes)
		}
		perThread := s.buffers() / int64(c.threads) / buffer
		pending := int64((c.connections + c.threads - 1) / c.threads)
		if left := (perThread - pending) * responses; left < multiget {
			t.Errorf("%d connections, %d threads: with a pending command on each, a multiget of %d keys fits", c.connections, c.threads, left)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		sizing sizing
		want   int64
	}{
		{sized(64, 4, 1024), 198},
		{sized(64, 4, 65536), 1269},
		{sized(64, 64, 65536), 64 + 39 + 6 + 11 + 7 + 64 + 1472 + 32},
		{sized(640, 4, 1024), 640 + 39 + 96 + 11 + 1 + 1 + 44 + 32},
		{sized(641, 4, 1024), 641 + 39 + 96 + 11 + 1 + 1 + 44 + 33}, // 5 % of memory exceeds 32 MiB
		{sized(1024, 4, 1024), 1267},
		{sized(65536, 64, 65536), 65536 + 39 + 6144 + 11 + 7 + 64 + 1472 + 3277},
		{sized(1<<20, 64, 65536), 1<<20 + 39 + 98304 + 11 + 7 + 64 + 1472 + 52429},
	} {
		got := c.sizing.limit()
		if got%mebibyte != 0 {
			t.Errorf("-m %d: the limit %d is not in whole MiB", c.sizing.memory/mebibyte, got)
		}
		// Each term of the sums in the table is rounded up, so a sum may be one too large.
		if got /= mebibyte; got > c.want || got < c.want-1 {
			t.Errorf("-m %d: the limit is %dMi, not %dMi", c.sizing.memory/mebibyte, got, c.want)
		}
		if err := c.sizing.check(*resource.NewQuantity(c.sizing.limit(), resource.BinarySI)); err != nil {
			t.Errorf("the computed limit is refused: %v", err)
		}
	}
}

// TestHashTable checks at which memory sizes the hash table doubles. Measured hash_bytes, old and new table: 2+4 MiB with -m 72,
// 4+8 MiB with 73, 32+64 MiB with 1100, and 64+128 MiB with 1170.
func TestHashTable(t *testing.T) {
	for _, c := range []struct{ memory, kibibytes int64 }{
		{9, 512},
		{10, 1536}, // 512 KiB (2^16 buckets of 8 bytes) for the old table, and 1024 KiB for the new one
		{64, 6 << 10},
		{72, 6 << 10},
		{73, 12 << 10},
		{1100, 96 << 10},
		{1152, 96 << 10},
		{1153, 192 << 10},
		{1170, 192 << 10},
		{4096, 384 << 10},
		{1 << 20, 96 << 20},
	} {
		if got := sized(c.memory, 4, usable).hashTable() / kibibyte; got != c.kibibytes {
			t.Errorf("-m %d: the hash table is %d KiB, not %d", c.memory, got, c.kibibytes)
		}
	}
}

func TestCheckLimit(t *testing.T) {
	s := sized(64, 4, 1024)
	for limit, want := range map[string]string{
		"166Mi": "", "1Gi": "", "175000000": "", "100P": "",
		"165Mi": "the memory limit is 165Mi, but memcached with 64Mi of item memory, 1024 connections and 4 threads needs at " +
			"least 166Mi: raise spec.resources.limits.memory, or lower spec.config.memory, maxConnections or threads",
		"0": "the memory limit is 0, but memcached with 64Mi of item memory, 1024 connections and 4 threads needs at " +
			"least 166Mi: raise spec.resources.limits.memory, or lower spec.config.memory, maxConnections or threads",
	} {
		got := ""
		if err := s.check(resource.MustParse(limit)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, not %q", limit, got, want)
		}
	}
	want := "with 64Mi of item memory, 1024 TLS connections and 4 threads needs at least 213Mi"
	if err := encrypted(s).check(resource.MustParse("212Mi")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with TLS: %v", err)
	}
	exact := *resource.NewQuantity(s.minimum(), resource.BinarySI)
	if err := s.check(exact); err != nil {
		t.Errorf("exactly the floor: %v", err)
	}
	exact.Sub(resource.MustParse("1"))
	if err := s.check(exact); err == nil {
		t.Error("a byte less than the floor is accepted")
	}
}

// TestConnectionLimit checks -c against memcached's rules. From -c, memcached takes 8 for itself, 5 for each thread, and 1 for the
// second listener. To start, it needs 5 for each thread and 32 more. Measured: -c 200 with 4 threads admits 172 clients with one
// listener and 171 with two; memcached with -c 26 and 4 threads does not start. The probes need two connections.
func TestConnectionLimit(t *testing.T) {
	for _, c := range []struct{ connections, threads, want int32 }{
		{169, 4, 200},
		{993, 4, 1024},
		{1024, 4, 1055},
		{1024, 1, 1040},
		{1, 1, 37},
		{1, 4, 52},
		{20, 4, 52},
		{21, 4, 52},
		{22, 4, 53},
		{1, 64, 352},
		{65536, 64, 65867},
	} {
		s := sizing{connections: c.connections, threads: c.threads}
		got := s.connectionLimit()
		if got != c.want {
			t.Errorf("%d connections, %d threads: -c %d, not %d", c.connections, c.threads, got, c.want)
		}
		s.statefulSet = true // the parent needs two connections, and the sidecar four
		if beside := s.connectionLimit(); beside != got+6 {
			t.Errorf("%d connections, %d threads: -c %d in a StatefulSet, not %d", c.connections, c.threads, beside, got+6)
		}
		s.credentials, s.tls = true, true // the agent needs nine more connections, and memcached has one more listener
		if encrypted := s.connectionLimit(); encrypted < got+6+9 || encrypted > got+6+9+1 {
			t.Errorf("%d connections, %d threads: -c %d with TLS, and %d without", c.connections, c.threads, encrypted, got)
		}
		s.plaintext = true
		if both := s.connectionLimit(); both < got+6+9 || both > got+6+9+2 {
			t.Errorf("%d connections, %d threads: -c %d with TLS and without, and %d without alone", c.connections, c.threads, both, got)
		}
		if left := got - 8 - 5*c.threads - 1 - 2; left < c.connections {
			t.Errorf("%d connections, %d threads: -c %d lets %d in", c.connections, c.threads, got, left)
		}
		if got < 5*c.threads+32 {
			t.Errorf("%d connections, %d threads: memcached does not start with -c %d", c.connections, c.threads, got)
		}
	}
}

func anotherTemplate(w *memcached.Workload) {
	record(func(r *memcached.Record) { r.Template = "0123" })(w)
}

// TestLimitBelowTheFloor checks that a memory limit below the minimum is refused, except for running pods of a Deployment that do not
// change.
func TestLimitBelowTheFloor(t *testing.T) {
	for name, c := range map[string]struct {
		limit   string
		change  func(*memcached.Workload)
		refused bool
	}{
		"nothing runs":                 {"120Mi", nil, true},
		"the same template runs":       {"120Mi", func(*memcached.Workload) {}, false},
		"another template runs":        {"120Mi", anotherTemplate, true},
		"it runs for somebody else":    {"120Mi", func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, true},
		"enough, and nothing runs":     {"170Mi", nil, false},
		"enough, and the same runs":    {"170Mi", func(*memcached.Workload) {}, false},
		"a limit of 0 is a limit":      {"0", nil, true},
		"a negative limit is a limit":  {"-1Gi", nil, true},
		"a limit that is no whole MiB": {"130000001", nil, true},
	} {
		for kind, list := range map[string]func(*cachev1alpha1.MemcachedSpec) *corev1.ResourceList{
			"limit":           func(s *cachev1alpha1.MemcachedSpec) *corev1.ResourceList { return &s.Resources.Limits },
			"request, so too": func(s *cachev1alpha1.MemcachedSpec) *corev1.ResourceList { return &s.Resources.Requests },
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				mc := memcachedtest.Cache(3)
				*list(&mc.Spec) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
				var observed memcached.Observed
				workload := liveWorkload(t, mc, older)
				*list(&mc.Spec) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.limit)}
				if c.change != nil {
					record(func(r *memcached.Record) { r.Template = templateHash(mc, older) })(workload)
					c.change(workload)
					observed.Children = []client.Object{workload.Object}
				}
				plan := For(memcachedtest.View(mc, observed), memcachedtest.Options)
				problem := plan.Problem
				if (problem != nil) != c.refused {
					t.Fatalf("refused: %v", problem)
				}
				if c.refused && (problem.Message == "" || problem.Reason != cachev1alpha1.ReasonInvalidSpec || len(plan.Objects) < 3) {
					t.Errorf("reason %s, objects %v", problem.Reason, plan.Objects)
				}
			})
		}
	}
}

// TestQuantities covers quantities that the API server would round up, write differently, or keep.
func TestQuantities(t *testing.T) {
	for _, c := range []struct{ name, given, want string }{
		{"cpu", "100500u", "101m"},
		{"cpu", "1500000001n", "1501m"},
		{"cpu", "0.1", "100m"},
		{"cpu", "1n", "1m"},
		{"cpu", "2", "2"},
		{"cpu", "0", "0"},
		{"memory", "1073741824500m", "1073741825"},
		{"memory", "1Gi", "1Gi"},
		{"memory", "0.3Gi", "322122548"},
		{"memory", "2G", "2G"},
		{"ephemeral-storage", "1u", "1"},
		{"ephemeral-storage", "10Mi", "10Mi"},
	} {
		name := corev1.ResourceName(c.name)
		list := corev1.ResourceList{name: resource.MustParse(c.given)}
		mc := memcachedtest.Cache(3)
		mc.Spec.Resources = cachev1alpha1.MemcachedResources{Limits: list, Requests: list}
		got := resourcesOf(mc.Spec.Resources, "1Gi")
		for list, quantity := range map[string]resource.Quantity{"limit": got.Limits[name], "request": got.Requests[name]} {
			if quantity.String() != c.want {
				t.Errorf("%s: the %s of %s is %s, not %s", c.name, list, c.given, quantity.String(), c.want)
			}
		}
		if given := mc.Spec.Resources.Limits[name]; given.Cmp(resource.MustParse(c.given)) != 0 {
			t.Errorf("%s: the spec is now %s, not %s", c.name, given.String(), c.given)
		}
	}
}
