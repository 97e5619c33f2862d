// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// With proxies, TLS ends there: the Secret is theirs, and the nodes need none.
var _ = Describe("Proxies with TLS and certificates of clients", Label(onLocalCluster), func() {
	It("serve only who may, and take a new certificate without a restart", SpecTimeout(6*time.Minute), func(ctx SpecContext) {
		s := newSecured(ctx, k8s.NewNamespace(ctx), 2, withProxies, mutualTLS)
		k8s.UntilReady(ctx, s.mc)
		Expect(s.mc.Status.Address).To(Equal(s.host() + ":11212"))
		Expect(k8s.ConnectTo(ctx, traffic.Address(&k8s.Pods(ctx, s.mc)[0])).Command(ctx, "mn")).To(Equal("MN"), "a node without TLS")
		proxies := proxiesOf(ctx, s.mc)
		before := clustertest.Incarnations(proxies)
		writer := clustertest.Must(s.visit(ctx, s.address(&proxies[0]), s.member))
		Expect(writer.Command(ctx, "set key 0 0 5\r\nvalue")).To(Equal("STORED"))
		for i := range proxies {
			reader := clustertest.Must(s.visit(ctx, s.address(&proxies[i]), s.member))
			Expect(traffic.Read(ctx, reader, "key")).To(HaveField("Bytes", []byte("value")))
			Expect(reader.Close()).To(Succeed())
			Expect(s.mayEnter(ctx, s.address(&proxies[i]), visitor{})).To(MatchError(MatchRegexp("certificate required|" + closed)))
			_, err := dialTLS(ctx, traffic.Address(&proxies[i]), s.config(s.member))
			Expect(err).To(MatchError(ContainSubstring("refused")), "the port of plaintext, which is closed outside the pod")
		}

		s.put(ctx, s.pair, s.newPair(s.authority))
		for i := range proxies {
			Eventually(ctx, s.shown).WithArguments(s.address(&proxies[i])).WithTimeout(kubeletSync).Should(Equal(s.serial()))
		}
		Expect(writer.Command(ctx, "mn")).To(Equal("MN"), "the connection stays")
		Expect(writer.Close()).To(Succeed())
		Expect(clustertest.Incarnations(proxiesOf(ctx, s.mc))).To(Equal(before), "pods and restarts of the proxies")
		Expect(k8s.Condition(ctx, NewGomega(Fail), s.mc, cachev1alpha1.ConditionReady).Reason).To(Equal(cachev1alpha1.ReasonAllNodesReady))
	})
})
