// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("The clients of a MemcachedProxy", Label(onLocalCluster), func() {
	const keys = 1000

	It("use TLS, keep their connections while the certificate changes, and are measured", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet))
		s := &secured{
			mc: &cachev1alpha1.Memcached{ // stands for the proxy, because secured knows only Memcacheds
				ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "front"},
				Spec:       cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.MemcachedTLS{}},
			},
			authority: clustertest.Must(credentials.NewAuthority("shop")),
		}
		s.addPair(ctx)
		front := newProxySpec(mc)
		front.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: s.pair.Name, ClientAuth: cachev1alpha1.ClientAuthRequire}
		createProxy(ctx, front)
		before := clustertest.Incarnations(proxiesOf(ctx, front))
		server := proxyServer(ctx, front)
		Expect(server.Address).To(HaveSuffix(":11212"))
		cache := traffic.NewClient(clustertest.Must(traffic.NewRing(server)), func(ctx context.Context, _, address string) (net.Conn, error) {
			return s.enter(ctx, address, s.member)
		})
		DeferCleanup(cache.Close)

		By("storing keys that clients of the nodes find too")
		Eventually(ctx, cache.Write).WithArguments(keys, 100).Should(Succeed())
		clustertest.MustFind(ctx, cache, keys)
		clustertest.MustFind(ctx, k8s.NewClient(ctx, mc), keys)
		stranger := visitor{clustertest.Must(clustertest.Must(credentials.NewAuthority("another shop")).User("application")), "", ""}
		Expect(s.mayEnter(ctx, server.Address, stranger)).To(MatchError(MatchRegexp(unknownAuthority)))

		By("changing the certificate while all keys are read")
		reads := &steadyTraffic{cache: cache, keys: keys, write: func(context.Context) error { return nil }}
		reads.start(ctx)
		s.put(ctx, s.pair, s.newPair(s.authority))
		for _, pod := range proxiesOf(ctx, front) {
			address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(tlsPort))
			Eventually(ctx, s.shown).WithArguments(address).WithTimeout(kubeletSync).Should(Equal(s.serial()))
		}
		reads.stop()
		reads.mustBeServed()
		Expect(clustertest.Incarnations(proxiesOf(ctx, front))).To(Equal(before), "pods and restarts of the proxies")

		By("reading the metrics of each proxy")
		gets := 0.0
		for _, pod := range proxiesOf(ctx, front) {
			scraped := ""
			Eventually(ctx, func() string {
				scraped = scrape(ctx, agentOf(&pod))
				return scraped
			}).Should(ContainSubstring(`memcached_agent_certificate_info{serial="` + s.serial() + `"} 1`))
			Expect(scraped).To(And(ContainSubstring("\nmemcached_up 1\n"), ContainSubstring("\nmemcached_proxy_nodes 3\n")))
			gets += sampleOf(scraped, `memcached_proxy_requests_total{command="gets"}`)
		}
		Expect(gets).To(BeNumerically(">=", keys), "a client has one of the proxies")
	})
})
