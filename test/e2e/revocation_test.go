// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
)

// revocationTime is how long it takes at most until all nodes have restarted: the kubelets deliver the change, the last node waits for
// two minutes, and each node is away for some seconds.
const revocationTime = kubeletSync + 2*time.Minute + 3*time.Minute

var _ = Describe("A cache that must forget", Label(onLocalCluster), func() {
	It("restarts memcached in its pods, one after the other, from the last one", SpecTimeout(15*time.Minute),
		func(ctx SpecContext) {
			restart := func(mc *cachev1alpha1.Memcached) {
				mc.Spec.TLS.Revocation, mc.Spec.Auth.Revocation = cachev1alpha1.RevocationRestart, cachev1alpha1.RevocationRestart
			}
			s := newSecured(ctx, k8s.NewNamespace(ctx), 3, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), leavesQuickly, mutualTLS, withUsers, restart)
			k8s.UntilReady(ctx, s.mc)
			before := k8s.Pods(ctx, s.mc)
			held := clustertest.Must(s.visit(ctx, s.address(&before[0]), s.reader))
			DeferCleanup(func() { _ = held.Close() })
			problems := s.problems(ctx)

			By("removing the authority of the clients, and a user")
			former, authority := s.member, clustertest.Must(credentials.NewAuthority("another"))
			s.member.identity = clustertest.Must(authority.User("application"))
			s.reader.identity = s.member.identity
			s.put(ctx, s.pair, s.with(map[string][]byte{"ca.crt": authority.PEM()}))
			s.put(ctx, s.users, logins(s.member))
			Eventually(ctx, func() []int32 { return restartsOf(k8s.Pods(ctx, s.mc)) }).WithTimeout(revocationTime).Should(Equal([]int32{1, 1, 1}))
			k8s.UntilReady(ctx, s.mc)
			mustHaveRestartedInTurn(before, k8s.Pods(ctx, s.mc))
			Expect(problems()).To(BeEmpty())

			By("admitting those who are left, and nobody else")
			_, err := held.Command(ctx, "mn")
			Expect(err).To(HaveOccurred(), "the connection of the user that was removed")
			for _, pod := range before {
				address := s.address(&pod)
				Expect(s.mayEnter(ctx, address, s.member)).To(Succeed())
				Expect(s.mayEnter(ctx, address, former)).To(MatchError(MatchRegexp(unknownAuthority)))
				Expect(s.mayEnter(ctx, address, s.reader)).To(MatchError(ContainSubstring(loginRefused)))
				Eventually(ctx, func() string { return scrape(ctx, agentOf(&pod)) }).Should(And( // it proves what memcached has read
					ContainSubstring(`memcached_agent_revocation_restarts_total{reason="ca_removed"} 1`),
					ContainSubstring(`memcached_agent_revocation_restarts_total{reason="user_removed"} 1`),
					ContainSubstring(`memcached_agent_restart_required{reason="ca_removed"} 0`),
					ContainSubstring(`memcached_agent_restart_required{reason="user_removed"} 0`)))
			}
			s.private.mustStayPrivate(ctx, s.mc.Namespace)
		})
})

// problems watches the Memcached, until the function that it returns is called, and returns why it was Degraded.
func (s *secured) problems(ctx context.Context) func() []string {
	GinkgoHelper()
	var messages []string
	stop := clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, roundPeriod, func() {
			mc := &cachev1alpha1.Memcached{}
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(s.mc), mc); err != nil {
				return
			}
			if meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionDegraded) {
				messages = append(messages, meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded).Message)
			}
		})
	})
	return func() []string { stop(); return messages }
}

func restartsOf(pods []corev1.Pod) []int32 {
	var restarts []int32
	for i := range pods {
		restarts = append(restarts, clustertest.Restarts(&pods[i]))
	}
	return restarts
}

// mustHaveRestartedInTurn fails unless the same pods have the same addresses, and each memcached ended after that of the next pod had
// started again.
func mustHaveRestartedInTurn(before, after []corev1.Pod) {
	GinkgoHelper()
	Expect(after).To(HaveLen(len(before)))
	for i := range after {
		Expect(after[i].UID).To(Equal(before[i].UID))
		Expect(after[i].Status.PodIP).To(Equal(before[i].Status.PodIP))
		exit := after[i].Status.ContainerStatuses[0].LastTerminationState.Terminated
		Expect(exit).NotTo(BeNil())
		Expect(exit.ExitCode).To(BeZero())
		Expect(exit.Message).To(Equal("Revocation: ca_removed,user_removed"))
		if i+1 < len(after) {
			next := after[i+1].Status.ContainerStatuses[0].State.Running
			Expect(exit.FinishedAt.Time).NotTo(BeTemporally("<", next.StartedAt.Time), "%s ended before %s had started", after[i].Name, after[i+1].Name)
		}
	}
}
