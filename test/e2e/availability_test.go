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

// How long the operator may take to follow a change, counted from the signal that ends or pauses the leader. Candidates
// read the lease every 1 to 2.2 s.
const (
	// afterKill allows 2.2 s until a candidate notices the last renewal, 15 s until the lease ends, 2.2 s until the
	// candidate notices that, and time for a slow machine.
	afterKill = 30 * time.Second
	// afterEnd is shorter than the time for which an unreleased lease is still valid. The new leader is this fast only if the old leader
	// has released the lease.
	afterEnd = 10 * time.Second
)

var _ = Describe("One of two operators fails, and memcached serves", Label(onLocalCluster), Ordered, func() {
	var f *fixture
	// followedSince scales f.other. It fails if the time from since until the operator has followed exceeds bound.
	followedSince := func(ctx SpecContext, since time.Time, bound time.Duration) {
		GinkgoHelper()
		took := f.userScalesOther(ctx).Sub(since)
		AddReportEntry("a change was followed after", took.String())
		Expect(took).To(BeNumerically("<=", bound))
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

	DescribeTable("the leader", func(ctx SpecContext, signal syscall.Signal, bound time.Duration) {
		manager := managerOf(leader(ctx))
		sent := time.Now()
		manager.signal(signal)
		Eventually(ctx, manager.runs).WithPolling(10 * time.Millisecond).Should(BeFalse())
		followedSince(ctx, sent, bound)
		f.mustBeUntouched(ctx)
	},
		Entry("is killed: another takes over when the lease has ended", SpecTimeout(3*time.Minute),
			syscall.SIGKILL, afterKill),
		Entry("receives SIGTERM: it releases the lease, and another takes over at once", SpecTimeout(3*time.Minute),
			syscall.SIGTERM, afterEnd),
	)

	It("the leader is paused: another takes over, and when it goes on it writes nothing more", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		paused := leader(ctx)
		manager := managerOf(paused)
		sent := time.Now()
		manager.signal(syscall.SIGSTOP)
		DeferCleanup(manager.signal, syscall.SIGCONT)
		followedSince(ctx, sent, afterKill)
		// followedSince has resized f.other once, and this is the second change of its size. The paused operator knows of neither change,
		// so its first decision is based on outdated state.
		f.userScalesOther(ctx)
		other := childrenOf(ctx, f.other)

		resumed := time.Now()
		manager.signal(syscall.SIGCONT)
		Eventually(ctx, manager.runs).Should(BeFalse(), "an operator that has lost the lease must end")
		Expect(writesOf(paused, f.namespace, resumed)).To(BeEmpty())
		Expect(childrenOf(ctx, f.other)).To(Equal(other))
		Expect(leader(ctx).Name).NotTo(Equal(paused.Name))
		f.mustBeUntouched(ctx)
	})
})

var _ = Describe("The API server is away, and memcached serves", Label(onLocalCluster), func() {
	const away = 30 * time.Second
	untilReadyz := func(ctx SpecContext) {
		GinkgoHelper()
		Eventually(ctx, func() error {
			_, err := k8s.TryKubectl(ctx, "get", "--raw", "/readyz")
			return err
		}).Should(Succeed())
	}

	It("for half a minute: nothing is restarted or changed, and the operator goes on by itself", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		f := newFixture(ctx)
		f.begin(ctx)
		server := theOne(processesOf("kube-apiserver", ""), "processes of the API server")
		invocation := server.invocation()
		server.signal(syscall.SIGKILL)
		DeferCleanup(func(ctx SpecContext) {
			if len(processesOf("kube-apiserver", "")) == 0 {
				invocation.start()
				untilReadyz(ctx)
			}
			replaceOperator(ctx)
		})
		Consistently(ctx, f.traffic.firstFailure).WithTimeout(away).Should(BeEmpty())
		invocation.start()
		untilReadyz(ctx)
		f.userScalesOther(ctx)
		// The controllers, the kubelets and the DNS of the cluster need up to half a minute to reconnect.
		k8s.UntilReady(ctx, f.other)
		Eventually(ctx, func() ([]string, error) {
			return resolver().LookupHost(ctx, "other."+f.namespace+".svc.cluster.local")
		}).Should(HaveLen(int(f.other.Spec.Size)))
		f.mustBeUntouched(ctx)
	})
})
