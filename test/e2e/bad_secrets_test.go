// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

const (
	// longestRefusal is how long a starting node may take to report what is wrong, with a reserve for a busy machine.
	longestRefusal = 30*time.Second + busyMachine
	// longestUntold is how long the operator may take to learn what an agent knows. The operator asks each agent at most once a minute,
	// and looks every 5 seconds for agents to ask.
	longestUntold = 65*time.Second + busyMachine
)

// The tests of internal/agent/credentials have all mistakes.
var _ = Describe("A Secret that nobody can use", Label(onLocalCluster), func() {
	It("does not keep a living node from serving, and a node that starts says what is wrong", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		const keys, words = 100, "tls.key does not fit the first certificate in tls.crt"
		s := newSecured(ctx, k8s.NewNamespace(ctx), 1, leavesQuickly, mutualTLS, withUsers)
		k8s.UntilReady(ctx, s.mc)
		pod, before, serial, good := k8s.Pods(ctx, s.mc)[0], k8s.Incarnations(ctx, s.mc), s.serial(), s.pair.Data
		cache := s.newClient(ctx, s.member)
		clustertest.MustStore(ctx, cache, keys)
		open := clustertest.Must(s.visit(ctx, s.address(&pod), s.member))
		DeferCleanup(func() { _ = open.Close() })
		mustServe := func() {
			GinkgoHelper()
			Expect(open.Command(ctx, "mn")).To(Equal("MN"))
			Expect(s.mayEnter(ctx, s.address(&pod), s.member)).To(Succeed())
			Expect(s.shown(ctx, s.address(&pod))).To(Equal(serial))
			clustertest.MustFind(ctx, cache, keys)
			Expect(k8s.Incarnations(ctx, s.mc)).To(HaveKeyWithValue(pod.Name, before[pod.Name]))
		}

		By("spoiling it, which the agent notices and memcached does not")
		s.put(ctx, s.pair, s.with(map[string][]byte{"tls.key": s.newPair(s.authority)["tls.key"]}))
		s.untilReloads(ctx, "0")
		mustServe()

		By("telling whoever has kubectl alone, while the cache stays Ready")
		Eventually(ctx, func(g Gomega) {
			told := k8s.Condition(ctx, g, s.mc, cachev1alpha1.ConditionNeedsAttention)
			g.Expect(told.Reason).To(Equal(cachev1alpha1.ReasonInvalidSecret))
			g.Expect(told.Message).To(And(ContainSubstring("Pod "+pod.Name+" says of the Secret "+s.pair.Name), ContainSubstring(words)))
		}).WithTimeout(longestUntold).Should(Succeed())
		Expect(k8s.Condition(ctx, Default, s.mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))

		By("starting another node, which says what is wrong")
		scale(ctx, s.mc, 2)
		Eventually(ctx, func(g Gomega) {
			degraded := k8s.Condition(ctx, g, s.mc, cachev1alpha1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(cachev1alpha1.ReasonInvalidSecret))
			g.Expect(degraded.Message).To(And(ContainSubstring("cache-1"), ContainSubstring(words), Not(ContainSubstring(pod.Name))))
		}).WithTimeout(longestRefusal).Should(Succeed())
		mustServe()

		By("repairing it, with which the node starts by itself")
		s.put(ctx, s.pair, good)
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Condition(ctx, g, s.mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
		}).WithTimeout(kubeletSync).Should(Succeed())
		s.untilReloads(ctx, "1")
		mustServe()
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Reread(ctx, s.mc)).To(Succeed())
			g.Expect(s.mc.Status.Conditions).NotTo(ContainElement(HaveField("Type", cachev1alpha1.ConditionNeedsAttention)))
		}).WithTimeout(longestUntold).Should(Succeed())
	})
})

// untilReloads waits until every agent reports this success of its last reload: 1 or 0.
func (s *secured) untilReloads(ctx context.Context, success string) {
	GinkgoHelper()
	for _, pod := range k8s.Pods(ctx, s.mc) {
		Eventually(ctx, func() string { return scrape(ctx, agentOf(&pod)) }).WithTimeout(kubeletSync).
			Should(ContainSubstring("\nmemcached_agent_reload_success "+success+"\n"), pod.Name)
	}
}
