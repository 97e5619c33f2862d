// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// A client that knows only one address finds all keys. The client connects to the IP address of a Service, which it
// reaches only on the local cluster.
var _ = Describe("A MemcachedProxy", Label(onLocalCluster), func() {
	const keys = 1000

	It("leads clients to the nodes, and a node that is away costs its own keys only", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet))
		front := newProxy(ctx, mc)
		cache := k8s.NewClientOf(proxyServer(ctx, front))
		before := clustertest.Incarnations(proxiesOf(ctx, front))
		Expect(before).To(HaveLen(2))

		By("storing keys through its Service, which clients with the ring of libmemcached find too")
		Eventually(ctx, cache.Write).WithArguments(keys, 100).Should(Succeed()) // kube-proxy learns later than this test that the pods are ready
		clustertest.MustFind(ctx, cache, keys)
		clustertest.MustFind(ctx, k8s.NewClient(ctx, mc), keys)

		By("deleting a node while all keys are read")
		victim := k8s.Pods(ctx, mc)[1]
		kept := ownedByOthers(k8s.Servers(ctx, mc), victim.Name, keys)
		reads := startReading(ctx, cache, keys)
		Expect(k8s.Delete(ctx, &victim)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: victim.Name}}
			g.Expect(k8s.Reread(ctx, pod)).To(Succeed())
			g.Expect(pod.UID).NotTo(Equal(victim.UID))
			g.Expect(clustertest.Ready(pod)).To(BeTrue())
		}).Should(Succeed())

		By("storing all keys again once the node is back, of which each thread of each proxy learns by itself")
		Eventually(ctx, cache.Write).WithArguments(keys, 100).Should(Succeed())
		Eventually(ctx, cache.Read).WithArguments(keys).WithTimeout(10 * time.Second).Should(HaveField("Hits", keys))
		worst := reads.end()
		AddReportEntry("the fewest hits of a round", worst)
		Expect(worst.Errors).To(BeZero(), "keys without an answer, in the worst of %d rounds", reads.rounds)
		Expect(worst.Wrong).To(BeZero())
		Expect(worst.Hits).To(Equal(kept), "the keys of the other nodes")
		clustertest.MustFind(ctx, k8s.NewClient(ctx, mc), keys)
		Expect(clustertest.Incarnations(proxiesOf(ctx, front))).To(Equal(before), "pods and restarts of the proxies")
	})
})

// newProxy creates a MemcachedProxy of size 2, and waits until it is Ready. The pools are one Memcached, or several
// that hold the same items.
func newProxy(ctx context.Context, pools ...*cachev1alpha1.Memcached) *cachev1alpha1.MemcachedProxy {
	GinkgoHelper()
	front := newProxySpec(pools...)
	createProxy(ctx, front)
	return front
}

func newProxySpec(pools ...*cachev1alpha1.Memcached) *cachev1alpha1.MemcachedProxy {
	front := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: pools[0].Namespace, Name: "front"}}
	front.Spec.Size = ptr.To(int32(2))
	for _, mc := range pools {
		front.Spec.Pools = append(front.Spec.Pools, cachev1alpha1.MemcachedProxyPool{Name: mc.Name})
	}
	return front
}

func createProxy(ctx context.Context, front *cachev1alpha1.MemcachedProxy) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, front)).To(Succeed())
	untilProxyReady(ctx, front)
}

func untilProxyReady(ctx context.Context, front *cachev1alpha1.MemcachedProxy) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Reread(ctx, front)).To(Succeed())
		g.Expect(front.Status.ObservedGeneration).To(Equal(front.Generation))
		g.Expect(meta.IsStatusConditionTrue(front.Status.Conditions, cachev1alpha1.ConditionReady)).To(BeTrue(), "%v", front.Status.Conditions)
	}).Should(Succeed())
}

// proxyServer returns the Service of a MemcachedProxy, which is the only server that its clients know.
func proxyServer(ctx context.Context, front *cachev1alpha1.MemcachedProxy) traffic.Server {
	GinkgoHelper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: front.Namespace, Name: front.Name}}
	Expect(k8s.Reread(ctx, service)).To(Succeed())
	_, port, err := net.SplitHostPort(front.Status.Address)
	Expect(err).NotTo(HaveOccurred())
	return traffic.Server{Name: front.Name, Address: net.JoinHostPort(service.Spec.ClusterIP, port)}
}

func proxiesOf(ctx context.Context, front *cachev1alpha1.MemcachedProxy) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(front.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached-proxy", "app.kubernetes.io/instance": front.Name,
	})).To(Succeed())
	return pods.Items
}

// ownedByOthers returns how many of the keys belong to other nodes than this one.
func ownedByOthers(servers []traffic.Server, node string, keys int) (owned int) {
	GinkgoHelper()
	ring := clustertest.Must(traffic.NewRing(servers...))
	for number := range keys {
		if clustertest.PodOf(ring.Owner(traffic.Key(number+1)).Name) != node {
			owned++
		}
	}
	return owned
}

// reading reads the same keys again and again. worst combines the fewest hits, the most wrong values and the most errors of all rounds.
type reading struct {
	stop   func()
	rounds int
	worst  traffic.Hits
}

func startReading(ctx context.Context, cache *traffic.Client, keys int) *reading {
	GinkgoHelper()
	r := &reading{worst: traffic.Hits{Keys: keys, Hits: keys}}
	r.stop = clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, roundPeriod, func() {
			if hits, err := cache.Read(ctx, keys); err == nil {
				r.rounds++
				r.worst.Hits, r.worst.Wrong = min(r.worst.Hits, hits.Hits), max(r.worst.Wrong, hits.Wrong)
				r.worst.Errors = max(r.worst.Errors, hits.Errors)
			}
		})
	})
	return r
}

func (r *reading) end() traffic.Hits {
	GinkgoHelper()
	r.stop()
	Expect(r.rounds).NotTo(BeZero(), "rounds")
	return r.worst
}
