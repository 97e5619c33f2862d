// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers/upgradeable"
	"github.com/example/memcached-operator/test/testenv/suite"
)

var _ = Describe("A running manager that OLM has installed", Ordered, func() {
	BeforeAll(installOLM)

	It("tells OLM of rollouts, as long as it leads", func(ctx SpecContext) {
		o := newOLM(ctx)
		o.create(ctx)
		elected := func(options *ctrl.Options) {
			options.LeaderElection, options.LeaderElectionReleaseOnCancel = true, true
			options.LeaderElectionID, options.LeaderElectionNamespace = "operator", o.condition.Namespace
			options.RetryPeriod = ptr.To(time.Second)
		}
		knows := func() string { return o.knows(ctx) }
		mc := newMemcached(ctx, 2)

		By("telling it when it starts")
		leader := start(ctx, mc.Namespace, 0, elected)
		Eventually(ctx, knows).Should(Equal(mayUpgrade))
		Expect(conditionRequests(leader.requests)).To(ConsistOf(readCondition, readCondition, writeCondition))
		standby := start(ctx, mc.Namespace, 0, elected)

		By("starting nodes, of which OLM need not know")
		Eventually(ctx, func() error { return user.Get(ctx, client.ObjectKeyFromObject(mc), &appsv1.Deployment{}) }).Should(Succeed())
		rollOut(ctx, mc)
		Eventually(ctx, func() string { return summary(ctx, mc, "Ready") }).Should(Equal("True/AllNodesReady"))
		Expect(conditionRequests(leader.requests)).To(HaveLen(3))

		By("replacing them")
		leader.requests.Reset()
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Verbosity = 1 })
		Eventually(ctx, knows).Should(Equal(mayNotUpgrade))
		Expect(conditionRequests(leader.requests)).To(ConsistOf(readCondition, writeCondition))

		By("handing over to the standby when it has ended")
		rollOut(ctx, mc)
		Eventually(ctx, func() string { return summary(ctx, mc, "Ready") }).Should(Equal("True/AllNodesReady"))
		Expect(conditionRequests(standby.requests)).To(BeEmpty())
		leader.stop()
		Eventually(ctx, knows).Should(Equal(mayUpgrade))
		Expect(conditionRequests(leader.requests)).To(HaveLen(2))
		Expect(conditionRequests(standby.requests)).To(ConsistOf(readCondition, readCondition, writeCondition))
	})

	It("reconciles undisturbed if OLM has none for it", func(ctx SpecContext) {
		newOLM(ctx)
		mc := newMemcached(ctx, 1)
		p := start(ctx, mc.Namespace, 0)
		Eventually(ctx, func() []string { return conditionRequests(p.requests) }).Should(ContainElement(readCondition + " (404)"))
		Eventually(ctx, func() error { return user.Get(ctx, client.ObjectKeyFromObject(mc), &appsv1.Deployment{}) }).Should(Succeed())
		rollOut(ctx, mc)
		Eventually(ctx, func() string { return summary(ctx, mc, "Ready") }).Should(Equal("True/AllNodesReady"))
	})

	It("is silent without OLM", func(ctx SpecContext) {
		newOLM(ctx)
		GinkgoT().Setenv(upgradeable.OperatorConditionVariable, "")
		log := &logged{}
		p := start(ctx, suite.NewNamespace(ctx, user), 0, func(options *ctrl.Options) { options.Logger = log.logger(1) })
		p.stop()
		Expect(conditionRequests(p.requests)).To(BeEmpty())
		Expect(aboutOLM(log.take())).To(BeEmpty())
	})

	It("says once that it runs in no pod, and works", func(ctx SpecContext) {
		newOLM(ctx)
		readNamespace = func() (string, error) { return "", errors.New("namespace not found for current environment") }
		log := &logged{}
		p := start(ctx, suite.NewNamespace(ctx, user), 0, func(options *ctrl.Options) { options.Logger = log.logger(1) })
		p.stop()
		Expect(conditionRequests(p.requests)).To(BeEmpty())
		Expect(aboutOLM(log.take())).To(ConsistOf(ContainSubstring("unset OPERATOR_CONDITION_NAME")))
	})
})

func aboutOLM(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		return !strings.Contains(line, "OLM") && !strings.Contains(line, "OperatorCondition") && !strings.Contains(line, "upgradeable")
	})
}
