// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("A memcached that exits", func() {
	It("is started again in the same pod, empty", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := newMemcached(ctx, newNamespace(ctx), 1)
		pod := podsOf(ctx, mc)[0]
		Expect(newClient(serversOf(ctx, mc)).Write(ctx, 10, 100)).To(Succeed())

		ended := time.Now()
		execute(ctx, &pod, "sh", "-c", "kill 1")

		By("serving again at the same address")
		Eventually(ctx, func(g Gomega) {
			now := podsOf(ctx, mc)
			g.Expect(now).To(HaveLen(1))
			g.Expect(now[0].UID).To(Equal(pod.UID))
			g.Expect(restartsOf(&now[0])).To(BeEquivalentTo(1))
			g.Expect(command(ctx, addressOf(&pod))).To(Succeed())
		}).Should(Succeed())
		AddReportEntry("An exited memcached", "served again after "+seconds(time.Since(ended)), ReportEntryVisibilityAlways)
		untilReady(ctx, mc)

		By("without what it held, as any restart")
		cache := newClient(serversOf(ctx, mc))
		Expect(cache.Read(ctx, 10)).To(Equal(traffic.Hits{Keys: 10}))
		Expect(cache.Write(ctx, 10, 100)).To(Succeed())
		Expect(cache.Read(ctx, 10)).To(Equal(traffic.Hits{Keys: 10, Hits: 10}))
	})
})
