// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// afterKill is how long the operator may take to follow a change, counted from the signal that ends or pauses the leader. It allows 2.2 s until
// a candidate notices the last renewal, 15 s until the lease ends, 2.2 s until the candidate notices that, and time for a slow machine.
const afterKill = 30 * time.Second

var _ = Describe("One of two operators fails, and memcached serves", Label(onLocalCluster), Ordered, func() {
	var f *fixture
	// followedSince scales f.other. It fails if the time from since until the operator has followed exceeds afterKill.
	followedSince := func(ctx SpecContext, since time.Time) {
		GinkgoHelper()
		took := f.userScalesOther(ctx).Sub(since)
		AddReportEntry("a change was followed after", took.String())
		Expect(took).To(BeNumerically("<=", afterKill))
	}

	BeforeAll(func(ctx SpecContext) {
		replaceOperator(ctx)
		scaleOperator(ctx, 2)
		f = newFixture(ctx)
	}, NodeTimeout(3*time.Minute))

	BeforeEach(func(ctx SpecContext) {
		untilOperators(ctx, 2)
		f.begin(ctx)
	}, NodeTimeout(2*time.Minute))

	It("the leader is killed: another takes over when the lease has ended", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		manager := managerOf(leader(ctx))
		sent := time.Now()
		manager.signal(syscall.SIGKILL)
		Eventually(ctx, manager.runs).WithPolling(10 * time.Millisecond).Should(BeFalse())
		followedSince(ctx, sent)
		f.mustBeUntouched(ctx)
	})

	It("the leader is paused: another takes over, and when it goes on it writes nothing old", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		paused := leader(ctx)
		manager := managerOf(paused)
		sent := time.Now()
		manager.signal(syscall.SIGSTOP)
		DeferCleanup(manager.signal, syscall.SIGCONT)
		followedSince(ctx, sent)
		// followedSince has resized f.other once, and this is the second change of its size. The paused operator knows of neither change,
		// so its first decision is based on outdated state.
		f.userScalesOther(ctx)
		other := childrenOf(ctx, f.other)

		resumed := time.Now()
		manager.signal(syscall.SIGCONT)
		Eventually(ctx, manager.runs).Should(BeFalse(), "an operator that has lost the lease must end")
		// Until it notices that the lease is lost, it may report what is true now: a status that it has seen, and an event about that.
		reported := Or(HaveSuffix("/memcacheds/other/status"), HaveSuffix("/events"))
		Expect(writesOf(paused, f.namespace, resumed)).NotTo(ContainElement(Not(reported)))
		Expect(k8s.Reread(ctx, f.other)).To(Succeed())
		Expect(f.other.Status.ObservedGeneration).To(Equal(f.other.Generation))
		Expect(childrenOf(ctx, f.other)).To(Equal(other))
		Expect(leader(ctx).Name).NotTo(Equal(paused.Name))
		f.mustBeUntouched(ctx)
	})
})
