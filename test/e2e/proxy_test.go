// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	eventKeys    = 20_000
	eventReaders = 4
)

// Whatever happens to nodes, proxies and DNS, each get is answered: with the value, or with a miss if the node of the
// key is unreachable.
var _ = Describe("Clients of proxies", Label(onLocalCluster), func() {
	It("get an answer whatever happens to nodes, DNS and proxies", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
		f := newFront(ctx)
		Expect(f.proxies).To(HaveLen(2))
		clustertest.MustFind(ctx, k8s.NewClient(ctx, f.mc), eventKeys) // clients with the ring of libmemcached find them, too

		for _, event := range []struct {
			name string
			do   func()
		}{
			{"a node is killed", func() {
				f.leave(ctx, f.node(ctx, 1), func(pod *corev1.Pod) error { return k8s.Delete(ctx, pod, client.GracePeriodSeconds(0)) })
				f.untilUsed(ctx, "cache-1")
			}},
			{"a node is evicted", func() {
				f.leave(ctx, f.node(ctx, 2), func(pod *corev1.Pod) error {
					return k8s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}})
				})
				f.untilUsed(ctx, "cache-2")
			}},
			{"a node hangs", func() {
				memcached := memcachedOf(f.node(ctx, 0))
				memcached.signal(syscall.SIGSTOP)
				time.Sleep(8 * time.Second) // enough for the proxies to notice the hang: the test cannot see when they do
				memcached.signal(syscall.SIGCONT)
			}},
			{"a node is killed while DNS is away", func() {
				scaleDNS(ctx, 0)
				f.leave(ctx, f.node(ctx, 1), func(pod *corev1.Pod) error { return k8s.Delete(ctx, pod, client.GracePeriodSeconds(0)) })
				time.Sleep(5 * time.Second) // enough for a proxy to ask the DNS: the test cannot see when it does
				scaleDNS(ctx, 1)
				f.untilUsed(ctx, "cache-1")
			}},
		} {
			By(event.name)
			readers := f.startReaders(ctx)
			event.do()
			f.storeAll(ctx)
			mustBeAnswered(readers, event.name, 0, time.Second)
		}
		Expect(clustertest.Incarnations(proxiesOf(ctx, f.mc))).To(Equal(f.proxies), "pods and restarts of the proxies")

		for _, event := range []struct {
			name string
			do   func(pod *corev1.Pod)
			// others is how many of the two proxies, at least, must be new or have restarted after the event.
			others int
		}{
			{"memcached of a proxy is killed", func(pod *corev1.Pod) { memcachedOf(pod).signal(syscall.SIGKILL) }, 1},
			{"a proxy is evicted", func(pod *corev1.Pod) {
				Expect(k8s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}})).To(Succeed())
			}, 1},
			{"all proxies are replaced", func(*corev1.Pod) {
				k8s.Change(ctx, f.mc, func() { f.mc.Spec.Proxy.Threads = 2 })
			}, 2},
		} {
			By(event.name)
			readers, before := f.startReaders(ctx), clustertest.Incarnations(proxiesOf(ctx, f.mc))
			event.do(&proxiesOf(ctx, f.mc)[0])
			f.untilOthers(ctx, before, event.others)
			readers.untilAsked(ctx, eventKeys)
			mustBeAnswered(readers, event.name, eventReaders*int64(event.others), repeatable)
			Expect(readers.missed.Load()).To(BeZero(), "a proxy has no keys")
		}
	})
})

// withProxies puts two proxies in front of the nodes.
func withProxies(mc *cachev1alpha1.Memcached) {
	mc.Spec.Proxy = &cachev1alpha1.MemcachedProxy{Size: ptr.To(int32(2))}
}

// proxyServer returns the address of a cache with proxies, which is the only server that its clients know.
func proxyServer(ctx context.Context, mc *cachev1alpha1.Memcached) traffic.Server {
	GinkgoHelper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
	Expect(k8s.Reread(ctx, service)).To(Succeed())
	host, port, err := net.SplitHostPort(mc.Status.Address)
	Expect(err).NotTo(HaveOccurred())
	Expect(host).To(HavePrefix(mc.Name + "." + mc.Namespace + ".svc"))
	return traffic.Server{Name: mc.Name, Address: net.JoinHostPort(service.Spec.ClusterIP, port)}
}

func proxiesOf(ctx context.Context, mc *cachev1alpha1.Memcached) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached-proxy", "app.kubernetes.io/instance": mc.Name,
	})).To(Succeed())
	return pods.Items
}

// front is a cache of three nodes, which hold all keys, and its two proxies.
type front struct {
	mc      *cachev1alpha1.Memcached
	server  traffic.Server
	cache   *traffic.Client
	proxies map[string]clustertest.Incarnation
}

func newFront(ctx context.Context) *front {
	GinkgoHelper()
	f := &front{mc: k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), withProxies)}
	f.server = proxyServer(ctx, f.mc)
	f.cache, f.proxies = k8s.NewClientOf(f.server), clustertest.Incarnations(proxiesOf(ctx, f.mc))
	f.storeAll(ctx)
	return f
}

// storeAll stores all keys through the proxies, and waits until all are found.
func (f *front) storeAll(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, f.cache.Write).WithArguments(eventKeys, 100).WithTimeout(time.Minute).Should(Succeed())
	Eventually(ctx, f.cache.Read).WithArguments(eventKeys).WithTimeout(time.Minute).Should(HaveField("Hits", eventKeys))
}

func (f *front) node(ctx context.Context, ordinal int) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.mc.Namespace, Name: fmt.Sprintf("%s-%d", f.mc.Name, ordinal)}}
	Expect(k8s.Reread(ctx, pod)).To(Succeed())
	return pod
}

// leave calls the function do, which deletes or evicts the pod. It then waits until another pod of the same name is ready.
func (*front) leave(ctx context.Context, pod *corev1.Pod, do func(*corev1.Pod) error) {
	GinkgoHelper()
	former := pod.UID
	Expect(do(pod)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Reread(ctx, pod)).To(Succeed())
		g.Expect(pod.UID).NotTo(Equal(former))
		g.Expect(clustertest.Ready(pod)).To(BeTrue())
	}).WithTimeout(2 * time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
}

// untilUsed waits until 200 writes succeed. This shows that the proxies use a node that has just become ready.
func (f *front) untilUsed(ctx context.Context, node string) {
	GinkgoHelper()
	since := time.Now()
	Eventually(ctx, f.cache.Write).WithArguments(200, 100).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
	AddReportEntry(fmt.Sprintf("%s is used after %.1f s", node, time.Since(since).Seconds()))
}

// untilOthers waits until exactly two proxies exist, both are ready, and at least this number of them are new or have restarted.
func (f *front) untilOthers(ctx context.Context, before map[string]clustertest.Incarnation, others int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		changed, pods := 0, proxiesOf(ctx, f.mc)
		g.Expect(pods).To(HaveLen(2))
		for i := range pods {
			g.Expect(pods[i].DeletionTimestamp).To(BeNil())
			g.Expect(clustertest.Ready(&pods[i])).To(BeTrue())
		}
		for name, now := range clustertest.Incarnations(pods) {
			if now != before[name] {
				changed++
			}
		}
		g.Expect(changed).To(BeNumerically(">=", others))
	}).WithTimeout(2 * time.Minute).Should(Succeed())
}

// scaleDNS stops the DNS of the cluster with 0 replicas, and starts it with 1. At the latest, DNS starts again when the spec ends.
func scaleDNS(ctx context.Context, replicas int32) {
	GinkgoHelper()
	dns := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
	Expect(k8s.Reread(ctx, dns)).To(Succeed())
	k8s.Change(ctx, dns, func() { dns.Spec.Replicas = &replicas })
	if replicas == 0 {
		DeferCleanup(func(ctx SpecContext) { k8s.Change(ctx, dns, func() { dns.Spec.Replicas = ptr.To(int32(1)) }) })
	}
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Reread(ctx, dns)).To(Succeed())
		g.Expect(dns.Status.ObservedGeneration).To(Equal(dns.Generation))
		g.Expect(dns.Status.ReadyReplicas).To(Equal(replicas))
	}).WithTimeout(time.Minute).Should(Succeed())
}

// startReaders starts clients that get one key after another.
func (f *front) startReaders(ctx context.Context) *proxyClients {
	GinkgoHelper()
	c := &proxyClients{address: f.server.Address}
	for number := range eventReaders {
		next := number
		c.start(ctx, c.address, func(ctx context.Context, conn **traffic.Conn) {
			key := traffic.Key(next*7%eventKeys + 1)
			c.get(ctx, conn, key, func(value string) bool { return len(value) == 100 && strings.HasPrefix(value, key) })
			next += eventReaders
		})
	}
	return c
}

// mustBeAnswered stops the readers. Each get must have returned a right value or a miss, in less than longest plus one second. More
// than 1000 gets must have been hits. The number of connections that ended must be at most reconnects.
func mustBeAnswered(readers *proxyClients, event string, reconnects int64, longest time.Duration) {
	GinkgoHelper()
	readers.stop()
	AddReportEntry(event + ": " + readers.String())
	Expect(readers.failed.Load()).To(BeZero(), "%v", readers.failure.Load())
	Expect(readers.wrong.Load()).To(BeZero())
	Expect(readers.hit.Load()).To(BeNumerically(">", 1000))
	readers.reconnected(reconnects)
	Expect(readers.slowest.Load()).To(BeNumerically("<", (longest + time.Second).Milliseconds()))
}
