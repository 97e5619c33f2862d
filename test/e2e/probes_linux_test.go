// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
)

// Three nodes get a fault at the same time: the restart of one proves that the probes had the time to restart the others.
var _ = Describe("A memcached that runs but does not serve well", Label(onLocalCluster, "slow"), func() {
	It("is restarted if nobody can connect to it, but not if it is slow or hangs", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		deaf, slow := newFaultyNode(ctx, namespace, "deaf"), newFaultyNode(ctx, namespace, "slow")
		hung := newFaultyNode(ctx, namespace, "hung")
		began := time.Now()
		deaf.stopListening()
		goOn := slow.stutter(ctx)
		hung.process.signal(syscall.SIGSTOP)

		By("serving only open connections on the deaf one")
		Expect(connectAndAsk(ctx, deaf.address)).To(MatchError(ContainSubstring("i/o timeout")))
		Expect(deaf.open.Command(ctx, "mn")).To(Equal("MN"))

		By("taking it out of the Service, and restarting it after a minute in which no connect succeeded")
		slow.askPeriodically(ctx)
		hung.askPeriodically(ctx)
		Eventually(ctx, func(g Gomega) {
			slow.mustBeLeftAlone(ctx)
			hung.mustBeLeftAlone(ctx)
			deaf.observe(ctx, g, began)
		}).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Succeed())
		Expect(deaf.unready).To(And(BeNumerically(">", 0), BeNumerically("<", deaf.restarted)))
		soonest, latest := deaf.livenessTakes()
		Expect(deaf.restarted).To(BeNumerically(">", soonest), "a restart loses data: a shorter outage must not cause it")
		Expect(k8s.Kubectl(ctx, "events", "--namespace", namespace, "--for", "pod/"+deaf.pod.Name)).
			To(ContainSubstring("Container memcached failed liveness probe, will be restarted"))

		By("leaving alone the slow one, which answers, and the one that hangs, which does not: TCP connects succeed")
		Consistently(ctx, func(Gomega) {
			slow.mustBeLeftAlone(ctx)
			hung.mustBeLeftAlone(ctx)
		}).WithTimeout(max(time.Second, latest-time.Since(began))).WithPolling(time.Second).Should(Succeed())
		slow.stopAsking()
		hung.stopAsking()
		AddReportEntry("Probes", tableOf(time.Since(began), deaf, slow, hung), ReportEntryVisibilityAlways)
		Expect(slow.answered).To(And(Equal(slow.asked), BeNumerically(">", 10)))
		Expect(slow.slowest).To(BeNumerically(">", stutterStop/2), "it must have been slow")
		Expect(hung.connected).To(And(Equal(hung.asked), BeNumerically(">", 10)))
		Expect(hung.answered).To(BeZero(), "it must have hung")

		By("losing nothing when they go on")
		goOn()
		hung.process.signal(syscall.SIGCONT)
		Expect(slow.keys(ctx)).To(Equal(faultyKeys))
		Expect(hung.keys(ctx)).To(Equal(faultyKeys))
		Expect(deaf.keys(ctx)).To(BeZero(), "a restart has lost them")
	})
})

// tableOf lists the state of each node and its answers.
func tableOf(watched time.Duration, nodes ...*faultyNode) string {
	rows := [][]string{{
		"memcached", "not ready after", "restarted after", "serves again after", "asked", "connected", "answered", "slowest answer",
	}}
	for _, p := range nodes {
		rows = append(rows, []string{
			p.mc.Name, seconds(p.unready), seconds(p.restarted), seconds(p.serving),
			fmt.Sprint(p.asked), fmt.Sprint(p.connected), fmt.Sprint(p.answered), seconds(p.slowest),
		})
	}
	return fmt.Sprintf("%swatched for %s\n", clustertest.Tabulate(rows), seconds(watched))
}
