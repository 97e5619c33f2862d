// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("A memcached that exits", func() {
	It("is started again in the same pod, empty", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		pod := k8s.Pods(ctx, mc)[0]
		Expect(k8s.NewClient(ctx, mc).Write(ctx, 10, 100)).To(Succeed())

		ended := time.Now()
		execute(ctx, &pod, "sh", "-c", "kill 1")

		By("serving again at the same address")
		Eventually(ctx, func(g Gomega) {
			now := k8s.Pods(ctx, mc)
			g.Expect(now).To(HaveLen(1))
			g.Expect(now[0].UID).To(Equal(pod.UID))
			g.Expect(clustertest.Restarts(&now[0])).To(BeEquivalentTo(1))
			g.Expect(connectAndAsk(ctx, traffic.Address(&pod))).To(Succeed())
		}).Should(Succeed())
		AddReportEntry("An exited memcached", "served again after "+seconds(time.Since(ended)), ReportEntryVisibilityAlways)
		k8s.UntilReady(ctx, mc)

		By("without what it held, as any restart")
		cache := k8s.NewClient(ctx, mc)
		Expect(cache.Read(ctx, 10)).To(Equal(traffic.Hits{Keys: 10}))
		clustertest.MustStore(ctx, cache, 10)
	})
})
