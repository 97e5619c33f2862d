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

// How long nobody may follow a change after the leader has gone. Candidates look at the lease after 1 to 2.2 s.
const (
	// afterKill is a lease of 15 s, which nobody gave back, seen up to 2.2 s late and looked at up to 2.2 s after its end, and
	// what a slow machine needs.
	afterKill = 30 * time.Second
	// afterEnd is less than what is left of a lease that was not given back.
	afterEnd = 10 * time.Second
)

var _ = Describe("One of two operators fails, and memcached serves", Label(onLocalCluster), Ordered, func() {
	var (
		scene   *scene
		figures = [][]string{{"what happened to the leader", "a change was followed after", "at most", "what clients saw"}}
	)
	// followedSince has a user change something and fails if that is not followed in time.
	followedSince := func(ctx SpecContext, what string, since time.Time, bound time.Duration) {
		GinkgoHelper()
		took := scene.userScalesAnother(ctx).Sub(since)
		figures = append(figures, []string{what, took.Round(10 * time.Millisecond).String(), bound.String(), scene.traffic.served().String()})
		Expect(took).To(BeNumerically("<=", bound))
	}

	BeforeAll(func(ctx SpecContext) {
		replaceOperator(ctx)
		scaleOperator(ctx, 2)
		scene = newScene(ctx)
		DeferCleanup(func() {
			AddReportEntry("Succession of operators", tabulate(figures), ReportEntryVisibilityAlways)
		})
	}, NodeTimeout(3*time.Minute))

	BeforeEach(func(ctx SpecContext) {
		untilOperators(ctx, 2)
		scene.begin(ctx)
	}, NodeTimeout(2*time.Minute))

	It("the leader is killed: another takes over when the lease has ended", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		manager := managerOf(leaderOf(ctx, operatorNamespace))
		killed := time.Now()
		manager.signal(syscall.SIGKILL)
		Eventually(ctx, manager.runs).WithPolling(10 * time.Millisecond).Should(BeFalse())
		followedSince(ctx, "SIGKILL", killed, afterKill)
		scene.mustBeUntouched(ctx)
	})

	It("the leader is told to end: it gives the lease back, and another takes over at once", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		manager := managerOf(leaderOf(ctx, operatorNamespace))
		told := time.Now()
		manager.signal(syscall.SIGTERM)
		Eventually(ctx, manager.runs).WithPolling(10 * time.Millisecond).Should(BeFalse())
		followedSince(ctx, "SIGTERM", told, afterEnd)
		scene.mustBeUntouched(ctx)
	})

	It("the leader is paused: another takes over, and when it goes on it writes nothing more", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		leader := leaderOf(ctx, operatorNamespace)
		manager := managerOf(leader)
		paused := time.Now()
		manager.signal(syscall.SIGSTOP)
		DeferCleanup(manager.signal, syscall.SIGCONT)
		followedSince(ctx, "SIGSTOP", paused, afterKill)
		// The paused one has not seen the change above, nor this one: what it wanted last and what it reads first are wrong.
		scene.userScalesAnother(ctx)
		other := childrenOf(ctx, scene.other)

		resumed := time.Now()
		manager.signal(syscall.SIGCONT)
		Eventually(ctx, manager.runs).Should(BeFalse(), "who has lost the lease must end")
		Expect(writesOf(leader, scene.namespace, resumed)).To(BeEmpty())
		Expect(childrenOf(ctx, scene.other)).To(Equal(other))
		Expect(leaderOf(ctx, operatorNamespace).Name).NotTo(Equal(leader.Name))
		scene.mustBeUntouched(ctx)
	})
})

// apiServerAway is when the API server was not ready. One that has just started has not read any role and refuses everybody.
var apiServerAway struct{ from, until time.Time }

var _ = Describe("The API server is away, and memcached serves", Label(onLocalCluster), func() {
	const away = 30 * time.Second
	untilReadyz := func(ctx SpecContext) {
		GinkgoHelper()
		Eventually(ctx, func() error {
			_, err := tryKubectl(ctx, "get", "--raw", "/readyz")
			return err
		}).Should(Succeed())
		apiServerAway.until = time.Now()
	}

	It("for half a minute: nothing is restarted or changed, and the operator goes on by itself", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		scene := newScene(ctx)
		scene.begin(ctx)
		server := apiServer()
		invocation := server.invocation()
		apiServerAway.from = time.Now()
		server.signal(syscall.SIGKILL)
		DeferCleanup(func(ctx SpecContext) {
			if len(processesOf("kube-apiserver", "")) == 0 {
				invocation.start()
				untilReadyz(ctx)
			}
			replaceOperator(ctx)
		})
		Consistently(ctx, scene.traffic.firstFailure).WithTimeout(away).Should(BeEmpty())
		invocation.start()
		untilReadyz(ctx)
		took := scene.userScalesAnother(ctx).Sub(apiServerAway.until)
		// The controllers of the cluster, its nodes and its DNS ask the API server again after up to half a minute as well.
		untilReady(ctx, scene.other)
		Eventually(ctx, func() ([]string, error) {
			return lookup(ctx, "other."+scene.namespace+".svc.cluster.local")
		}).Should(HaveLen(int(scene.other.Spec.Size)))
		ready := time.Since(apiServerAway.until)
		scene.mustBeUntouched(ctx)
		AddReportEntry("The API server was away", tabulate([][]string{
			{"away for", "a change was followed after", "and was Ready and in DNS after", "what clients saw"},
			{
				apiServerAway.until.Sub(apiServerAway.from).Round(time.Second).String(), took.Round(10 * time.Millisecond).String(),
				ready.Round(10 * time.Millisecond).String(), scene.traffic.served().String(),
			},
		}), ReportEntryVisibilityAlways)
	})
})
