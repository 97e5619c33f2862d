// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/traffic"
)

// A real Prometheus scrapes real nodes while clients use them. This Prometheus has the rules of config/components/monitoring, with
// shorter durations. At first, nothing is wrong. Then the test causes each alert.
var _ = Describe("A user with a Prometheus", Label(onLocalCluster), func() {
	It("has data for every rule and every panel, and an alert for everything that goes wrong", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		s := newShop(ctx)
		o := observe(ctx, s.namespace)
		s.untilReady(ctx)

		By("using the caches, while no alert fires")
		o.began = time.Now()
		s.use(ctx)
		// The daily average leaves out the last hour. With the shorter durations, the average has data after a minute.
		o.untilData(ctx, `memcached:hit_ratio:avg1d{namespace="shop",memcached="sessions"}`)
		o.untilSilent(ctx)

		By("breaking everything")
		s.scaleWrongly(ctx, o)
		s.useMore(ctx, o)
		s.breakNodes(ctx, o)
		s.breakImage(ctx, o)
		s.fillContainer(ctx, o)
		o.untilAllFired(ctx)
		fleet, cache := dashboard(monitoring.FleetDashboard, ".*", ""), dashboard(monitoring.CacheDashboard, s.namespace, s.sessions.Name)

		By("stopping the operator")
		o.causes["MemcachedOperatorDown"] = cause{what: "the operator has no pods"}
		scaleOperator(ctx, 0)
		o.mustHaveFiredAll(ctx)
		o.mustHaveData(ctx, fleet, cache)
		o.mustSeeContainers(ctx)
	})
})

// shop is a namespace with three caches.
type shop struct {
	namespace string
	// sessions is the cache with most of the problems.
	sessions, pages, search *cachev1alpha1.Memcached
	// leave stops the client of sessions.
	leave func()
}

func newShop(ctx context.Context) *shop {
	GinkgoHelper()
	s := &shop{namespace: k8s.NewNamespaceNamed(ctx, "shop")}
	create := func(name string, size int32) *cachev1alpha1.Memcached {
		return k8s.CreateMemcached(ctx, s.namespace, size, clustertest.Named(name), leavesQuickly,
			clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 100 })
	}
	s.sessions, s.pages, s.search = create("sessions", 4), create("pages", 1), create("search", 1)
	return s
}

func (s *shop) caches() []*cachev1alpha1.Memcached {
	return []*cachev1alpha1.Memcached{s.sessions, s.pages, s.search}
}

func (s *shop) untilReady(ctx context.Context) {
	GinkgoHelper()
	for _, mc := range s.caches() {
		k8s.UntilReady(ctx, mc)
	}
}

// use starts a client of each cache. The client writes keys, and reads them together with a few keys that nobody has written.
func (s *shop) use(ctx context.Context) {
	GinkgoHelper()
	for i, mc := range s.caches() {
		cache, keys := k8s.NewClient(ctx, mc), 400/(i+1)
		leave := clustertest.InBackground(ctx, func(ctx context.Context) {
			clustertest.Every(ctx, 2*roundPeriod, func() {
				_ = cache.Write(ctx, keys, 1000)
				_, _ = cache.Read(ctx, keys+keys/20)
			})
		})
		if mc == s.sessions {
			s.leave = leave
		}
	}
}

// scaleWrongly scales each StatefulSet three times, as an autoscaler with the wrong target would. The operator must undo each change.
func (s *shop) scaleWrongly(ctx context.Context, o *observed) {
	GinkgoHelper()
	o.causes["MemcachedOperatorFighting"] = cause{"someone else scales the StatefulSets", model.LabelSet{"kind": "StatefulSet"}}
	for i, mc := range slices.Repeat(s.caches(), 3) {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
		Expect(k8s.Reread(ctx, set)).To(Succeed())
		k8s.Change(ctx, set, func() { set.Spec.Replicas = ptr.To(mc.Spec.Size + 1) })
		Eventually(ctx, k8s.Object(set)).WithPolling(20 * time.Millisecond).
			Should(HaveField("Spec.Replicas", HaveValue(Equal(mc.Spec.Size))))
		if i == 0 {
			// Prometheus sees an increase only if it has scraped an earlier value.
			o.untilData(ctx, `memcached_operator_corrections_total{kind="StatefulSet"}`)
		}
	}
}

// useMore replaces the client of the cache named "sessions". The new clients write much more than the memory of the cache holds, and
// read keys that nobody has written.
func (s *shop) useMore(ctx context.Context, o *observed) {
	GinkgoHelper()
	const keys, value = 12_000, 32_000
	o.because("MemcachedEvictsFreshItems", "clients write more than the memory holds", s.sessions, nil)
	o.because("MemcachedHitRatioFell", "clients read what nobody has written", s.sessions, nil)
	s.leave()
	writer, reader := k8s.NewClient(ctx, s.sessions), k8s.NewClient(ctx, s.sessions)
	clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, 10*roundPeriod, func() { _ = writer.Write(ctx, keys, value) })
	})
	clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, 2*roundPeriod, func() { _, _ = reader.Read(ctx, keys/16) })
	})
	unwritten := "get" + strings.Repeat(" unwritten", 100)
	for _, pod := range nodesOf(ctx, s.sessions) {
		conn := k8s.ConnectTo(ctx, traffic.Address(&pod))
		clustertest.InBackground(ctx, func(ctx context.Context) {
			clustertest.Every(ctx, roundPeriod, func() { _, _ = conn.Command(ctx, unwritten) })
		})
	}
}

// breakNodes breaks the four nodes of sessions: one restarts, one has no connection left, and two hang.
func (s *shop) breakNodes(ctx context.Context, o *observed) {
	GinkgoHelper()
	pods := nodesOf(ctx, s.sessions)
	restarted, busy, hung := &pods[0], &pods[1], pods[2:]

	o.because("MemcachedNodeRestarted", "memcached is killed", s.sessions, restarted)
	memcachedOf(restarted).signal(syscall.SIGKILL)

	o.because("MemcachedConnectionsRejected", "clients have all connections", s.sessions, busy)
	o.because("MemcachedConnectionsNearLimit", "clients have all connections", s.sessions, busy)
	takeAllConnections(ctx, traffic.Address(busy))

	o.because("MemcachedNodeDown", "memcached hangs", s.sessions, &hung[0])
	o.because("MemcachedUnavailable", "memcached hangs on two nodes of four", s.sessions, nil)
	for i := range hung {
		memcached := memcachedOf(&hung[i])
		DeferCleanup(func() { memcached.signal(syscall.SIGCONT) }) // a stopped process does not handle SIGTERM
		memcached.signal(syscall.SIGSTOP)
	}
}

func (s *shop) breakImage(ctx context.Context, o *observed) {
	GinkgoHelper()
	o.because("MemcachedRolloutStuck", "the image does not exist", s.search, nil)
	o.because("MemcachedDegraded", "the image does not exist", s.search, nil)
	k8s.Change(ctx, s.search, func() { s.search.Spec.Image = s.search.Status.Image + "-missing" })
}

// fillContainer gives the node of the cache named "pages" more item memory than config.memory allows. It then stores
// items until the container is close to its memory limit.
func (s *shop) fillContainer(ctx context.Context, o *observed) {
	GinkgoHelper()
	const size = 64 << 10
	pod := &nodesOf(ctx, s.pages)[0]
	o.because("MemcachedMemoryLimitDiffers", "cache_memlimit is sent to a node", s.pages, pod)
	o.because("MemcachedContainerMemoryNearLimit", "the node then stores more than its container is sized for", s.pages, pod)
	Expect(k8s.ConnectTo(ctx, traffic.Address(pod)).Command(ctx, "cache_memlimit 1024")).To(Equal("OK"))
	conn, value := k8s.ConnectTo(ctx, traffic.Address(pod)), strings.Repeat("v", size)
	limit := pod.Spec.Containers[0].Resources.Limits.Memory().AsApproximateFloat64()
	for stored := 0; ; {
		missing := 0.98*limit - workingSet(ctx, pod)
		if missing < 0.005*limit {
			return
		}
		for range 1 + int(missing/2/size) {
			stored++
			Expect(conn.Command(ctx, fmt.Sprintf("set fill-%d 0 0 %d\r\n%s", stored, size, value))).To(Equal("STORED"))
		}
	}
}

// workingSet returns how much memory of the memcached container the kernel cannot reclaim immediately, in bytes.
func workingSet(ctx context.Context, pod *corev1.Pod) float64 {
	GinkgoHelper()
	// The first cat is for cgroup v2, and the second for cgroup v1.
	output := execute(ctx, pod, "sh", "-c", "cd /sys/fs/cgroup; cat memory.current memory.stat 2>/dev/null || "+
		"cat memory/memory.usage_in_bytes memory/memory.stat")
	usage, statistics, _ := strings.Cut(output, "\n")
	inactive := 0.0
	for line := range strings.Lines(statistics) {
		if name, bytes, _ := strings.Cut(strings.TrimSpace(line), " "); name == "inactive_file" || name == "total_inactive_file" {
			inactive = number(bytes) // cgroup v1 has both lines, and the later one counts: total_inactive_file
		}
	}
	return number(usage) - inactive
}

// nodesOf returns the pods of a cache. It first waits until the pods that scaleWrongly has added are gone.
func nodesOf(ctx context.Context, mc *cachev1alpha1.Memcached) (pods []corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() []corev1.Pod {
		pods = k8s.Pods(ctx, mc)
		return pods
	}).Should(HaveLen(int(mc.Spec.Size)))
	return pods
}
