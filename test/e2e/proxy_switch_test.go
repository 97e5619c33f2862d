// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// Each writer alternates between the two proxies when it writes, and reads through both. If the proxies distributed keys differently,
// the writer would read old values.
var _ = Describe("Writers through two proxies", Label(onLocalCluster), func() {
	It("read nothing older than they have stored, before and after the number of nodes changes", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
		f := newFront(ctx)
		mc := f.mc
		w := startWriters(ctx, mc)
		for _, size := range []int32{4, 3} {
			w.refused.Store(0)
			scale(ctx, mc, size)
			var from time.Time
			Eventually(ctx, func(g Gomega) {
				next := routesOf(ctx, g, mc).Pool.Next
				g.Expect(next).To(HaveField("Count", int(size)))
				from = next.From
			}).WithTimeout(2 * time.Minute).Should(Succeed())
			Eventually(ctx, func() time.Duration { return time.Until(from) }).WithTimeout(3 * time.Minute).Should(BeNumerically("<", time.Second))
			w.since.Store(math.MaxInt64) // the proxies do not switch at exactly the same moment: old values are allowed now
			Expect(w.wrong.Load()).To(BeZero(), "old values until %d nodes share the keys", size)
			Eventually(ctx, func(g Gomega) {
				g.Expect(k8s.Condition(ctx, g, mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
				g.Expect(mc.Status.Proxies).To(HaveValue(Equal(cachev1alpha1.MemcachedProxiesStatus{Size: 2, Ready: 2, Nodes: size})))
			}).WithTimeout(time.Minute).Should(Succeed())
			w.since.Store(w.numbers.Load() + 1)
			late := w.refused.Load()
			w.untilAsked(ctx, 2*ownedKeys)
			Expect(w.wrong.Load()).To(BeZero(), "old values since %d nodes share the keys", size)
			Expect(w.refused.Load()).To(Equal(late), "writes refused since then")
			AddReportEntry(fmt.Sprintf("%d nodes: %s, %d old values while they changed", size, w, w.older.Load()))
		}
		w.stop()
		w.throughEach(ctx, func(conn **traffic.Conn, _ int) {
			for key := range ownedKeys {
				w.read(ctx, conn, key)
			}
		})
		Expect(w.wrong.Load()).To(BeZero(), "old values of keys written since the last change")
		Expect(w.hit.Load()).To(BeNumerically(">", 2*ownedKeys))
		Expect(w.failed.Load()).To(BeZero(), "%v", w.failure.Load())
		w.reconnected(0)
		Expect(clustertest.Incarnations(proxiesOf(ctx, mc))).To(Equal(f.proxies), "pods and restarts of the proxies")
	})
})

// routesOf returns the routes that the proxies of a cache read.
func routesOf(ctx context.Context, g Gomega, mc *cachev1alpha1.Memcached) protocol.Routes {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name + "-routes"}}
	g.Expect(k8s.Reread(ctx, config)).To(Succeed())
	routes, err := protocol.ParseRoutes(config.Data[protocol.RoutesKey])
	g.Expect(err).NotTo(HaveOccurred())
	return routes
}

// startWriters starts clients that have a connection to each proxy. Each client writes and reads only its own keys.
func startWriters(ctx context.Context, mc *cachev1alpha1.Memcached) *owners {
	GinkgoHelper()
	const writers = 4
	o := newOwners(ctx, mc)
	for number := range writers {
		other, step := k8s.ConnectTo(ctx, traffic.Address(&o.proxies[1])), 0
		o.start(ctx, traffic.Address(&o.proxies[0]), func(ctx context.Context, conn **traffic.Conn) {
			conns := []**traffic.Conn{conn, &other}
			key, formerly := step*writers%ownedKeys+number, step*7*writers%ownedKeys+number
			o.set(ctx, conns[step%2], key)
			for _, conn := range conns {
				o.read(ctx, conn, key)
			}
			o.read(ctx, conns[step/2%2], formerly)
			step++
		})
	}
	return o
}
