// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/prometheus/common/model"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/traffic"
)

// A real Prometheus scrapes real nodes while clients use them. This Prometheus has the rules of config/components/monitoring, with
// shorter durations. At first, nothing is wrong. Then the test causes the alerts that need a real node. promtool tests all of them.
var _ = Describe("A user with a Prometheus", Label(onLocalCluster), func() {
	It("has data for every rule and every panel, and an alert for what goes wrong", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		s := newShop(ctx)
		o := observe(ctx, s.namespace)

		By("using the caches, while no alert fires")
		o.began = time.Now()
		s.use(ctx)
		// The daily average leaves out the last hour. With the shorter durations, the average has data after a minute.
		o.untilData(ctx, `memcached:hit_ratio:avg1d{namespace="shop",memcached="sessions"}`)
		s.overfill(ctx, o)
		o.untilSilent(ctx)

		By("breaking everything")
		k8s.Kubectl(ctx, "patch", "pdb", s.sessions.Name, "--namespace="+s.namespace, `--patch={"spec": {"maxUnavailable": 2}}`) // it is set back
		s.breakNodes(ctx, o)
		s.breakImage(ctx, o)
		o.untilAllFired(ctx)

		By("stopping the operator")
		o.causes["MemcachedOperatorDown"] = model.LabelSet{}
		scaleOperator(ctx, 0)
		o.untilAllFired(ctx)
		o.mustHaveData(ctx, dashboard(monitoring.FleetDashboard, ".*", ""), dashboard(monitoring.CacheDashboard, s.namespace, s.sessions.Name))
	})
})

// shop is a namespace with two caches.
type shop struct {
	namespace string
	// sessions is the cache with most of the problems.
	sessions, search *cachev1alpha1.Memcached
}

func newShop(ctx context.Context) *shop {
	GinkgoHelper()
	s := &shop{namespace: k8s.NewNamespaceNamed(ctx, "shop")}
	create := func(name string, size int32) *cachev1alpha1.Memcached {
		return k8s.CreateMemcached(ctx, s.namespace, size, clustertest.Named(name), leavesQuickly,
			clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 100 })
	}
	s.sessions, s.search = create("sessions", 4), create("search", 1)
	k8s.UntilReady(ctx, s.sessions)
	k8s.UntilReady(ctx, s.search)
	return s
}

// use starts a client of each cache. The client writes keys, and reads them together with a few keys that nobody has written.
func (s *shop) use(ctx context.Context) {
	GinkgoHelper()
	for i, mc := range []*cachev1alpha1.Memcached{s.sessions, s.search} {
		cache, keys := k8s.NewClient(ctx, mc), 400/(i+1)
		clustertest.InBackground(ctx, func(ctx context.Context) {
			clustertest.Every(ctx, 2*roundPeriod, func() {
				_ = cache.Write(ctx, keys, 1000)
				_, _ = cache.Read(ctx, keys+keys/20)
			})
		})
	}
}

// overfill stores more in a node of sessions than its memory holds, until Prometheus has seen evictions.
func (s *shop) overfill(ctx context.Context, o *observed) {
	cache := k8s.NewClientOf(k8s.Servers(ctx, s.sessions)[0])
	defer clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, roundPeriod, func() { _ = cache.Write(ctx, 500, 200_000) })
	})()
	o.untilData(ctx, `memcached:evicted_age_seconds:min{namespace="shop",memcached="sessions"}`)
}

// breakNodes breaks the four nodes of sessions: one restarts, one has no connection left, and two hang.
func (s *shop) breakNodes(ctx context.Context, o *observed) {
	GinkgoHelper()
	pods := k8s.Pods(ctx, s.sessions)
	restarted, busy, hung := &pods[0], &pods[1], pods[2:]

	o.because("MemcachedNodeRestarted", s.sessions, restarted)
	memcachedOf(restarted).signal(syscall.SIGKILL)

	o.because("MemcachedConnectionsRejected", s.sessions, busy)
	o.because("MemcachedConnectionsNearLimit", s.sessions, busy)
	takeAllConnections(ctx, traffic.Address(busy))

	o.because("MemcachedNodeDown", s.sessions, &hung[0])
	o.because("MemcachedUnavailable", s.sessions, nil)
	for i := range hung {
		memcached := memcachedOf(&hung[i])
		DeferCleanup(func() { memcached.signal(syscall.SIGCONT) }) // a stopped process does not handle SIGTERM
		memcached.signal(syscall.SIGSTOP)
	}
}

func (s *shop) breakImage(ctx context.Context, o *observed) {
	GinkgoHelper()
	o.because("MemcachedRolloutStuck", s.search, nil)
	o.because("MemcachedDegraded", s.search, nil)
	k8s.Change(ctx, s.search, func() { s.search.Spec.Image = s.search.Status.Image + "-missing" })
}
