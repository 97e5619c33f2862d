// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("Telling OLM whether it may upgrade the operator", Ordered, func() {
	var o *olm
	BeforeAll(installOLM)
	BeforeEach(func(ctx SpecContext) {
		o = newOLM(ctx)
		o.create(ctx)
		o.grant(ctx)
	})

	// first takes the first look, at nothing that OLM must be told of.
	first := func(ctx context.Context, all ...cachev1alpha1.Memcached) *reporter {
		GinkgoHelper()
		r := newReporter(all...)
		Expect(r.look(ctx, readCondition, readCondition, writeCondition)).To(BeZero())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
		return r
	}

	It("tells it once, also without any Memcached, and nothing after a restart", func(ctx SpecContext) {
		r := first(ctx)
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("Reported to OLM whether it may upgrade the operator")))
		Expect(o.condition.Spec.Deployments).To(Equal([]string{"controller-manager"}), "what OLM wrote stays")
		version := o.condition.ResourceVersion

		By("looking again, at resources of which no node is replaced")
		for _, reason := range []string{complete, "Creating", "Scaling", "Stuck", "WaitingForDeletion"} {
			r.all.items = append(r.all.items, told(reason, reason))
			Expect(r.look(ctx)).To(BeZero())
		}

		By("restarting")
		again := newReporter(r.all.items...)
		Expect(again.look(ctx, readCondition)).To(BeZero())
		Expect(again.log.take()).To(BeEmpty())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
		Expect(o.condition.ResourceVersion).To(Equal(version))
	})

	It("holds an upgrade back while a rollout progresses, and a little longer", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.all.items[0] = told("cache", rollsOut)
		Expect(r.look(ctx, readCondition, writeCondition)).To(Equal(time.Minute))
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))
		r.after(20 * time.Second)
		Expect(r.look(ctx)).To(Equal(time.Minute))

		By("seeing it end, and another one begin before long")
		r.all.items[0] = told("cache", complete)
		Expect(r.look(ctx)).To(Equal(30 * time.Second))
		r.after(29 * time.Second)
		Expect(r.look(ctx)).To(Equal(time.Second))
		r.all.items = append(r.all.items, told("sessions", rollsOut))
		Expect(r.look(ctx)).To(Equal(11*time.Second), "49 s after OLM was told another name")
		r.after(11 * time.Second)
		Expect(r.look(ctx, readCondition, writeCondition)).To(Equal(time.Minute))
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("sessions")))

		By("seeing it end")
		r.all.items = r.all.items[:1]
		Expect(r.look(ctx)).To(Equal(30 * time.Second))
		r.after(30 * time.Second)
		Expect(r.look(ctx, readCondition, writeCondition)).To(BeZero())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})

	It("does not hold the upgrade back that may mend a rollout", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)

		By("seeing it stuck")
		r.all.items[0] = told("cache", cachev1alpha1.ReasonStuck)
		r.look(ctx)
		r.after(30 * time.Second)
		Expect(r.look(ctx, readCondition, writeCondition)).To(BeZero())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))

		By("seeing it go on")
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))

		By("seeing its status change, and then never again")
		for range 20 {
			r.after(10 * time.Minute)
			r.all.items[0].Status.UpdatedReplicas++
			Expect(r.look(ctx)).To(Equal(time.Minute))
		}
		r.after(15 * time.Minute)
		Expect(r.look(ctx)).To(Equal(time.Minute))
		r.after(time.Minute)
		Expect(r.look(ctx, readCondition, writeCondition)).To(BeZero())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})

	It("waits at first for the resources that changed while no operator looked, a minute at most", func(ctx SpecContext) {
		mc := told("cache", complete)
		mc.Generation++
		r := newReporter(mc)
		Expect(r.look(ctx)).To(Equal(500 * time.Millisecond))
		r.all.items[0] = told("cache", rollsOut)
		Expect(r.look(ctx, readCondition, readCondition, writeCondition)).To(Equal(time.Minute))
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))

		By("restarting, and never seeing it")
		r = newReporter(mc)
		Expect(r.look(ctx)).To(Equal(500 * time.Millisecond))
		r.after(59 * time.Second)
		Expect(r.look(ctx)).To(Equal(500 * time.Millisecond))
		r.after(time.Second)
		Expect(r.look(ctx, readCondition, readCondition, writeCondition)).To(BeZero())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))

		By("not waiting for the changes that follow")
		r.all.items[0].Generation++
		Expect(r.look(ctx)).To(BeZero())
	})

	It("writes by the clock, not by the number of rollouts", func(ctx SpecContext) {
		const number, interval = 1000, 5 * time.Second
		r := first(ctx)
		for i := range number {
			r.all.items = append(r.all.items, told(fmt.Sprintf("cache-%d", i), complete))
		}
		writes := 0
		r.update = func(update func() error) error { writes++; return update() }
		for i := range number {
			r.all.items[i] = told(r.all.items[i].Name, rollsOut)
			if done := i - 3; done >= 0 {
				r.all.items[done] = told(r.all.items[done].Name, complete)
			}
			r.reconcile(ctx)
			r.after(interval)
		}
		Expect(o.knows(ctx)).To(HavePrefix("False/RollingOut: Nodes of 3 Memcached resources are being replaced: shop/cache-9"))
		Expect(writes).To(Equal(1+int(number*interval/time.Minute)), "one a minute")
	})

	It("writes beside an override of the administrator, and leaves it alone", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		override := `{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Decided","message":"I know"}]}}`
		Expect(o.client.Patch(ctx, o.condition, client.RawPatch(types.MergePatchType, []byte(override)))).To(Succeed())
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))
		Expect(o.condition.Spec.Overrides).To(ConsistOf(HaveField("Reason", "Decided")))
	})

	It("tries again after a conflict, and says nothing of it", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.log.take()
		r.all.items[0] = told("cache", rollsOut)
		r.update = func(update func() error) error {
			r.update = nil
			Expect(o.client.Get(ctx, client.ObjectKeyFromObject(o.condition), o.condition)).To(Succeed())
			o.condition.Spec.Deployments = []string{"another"}
			Expect(o.client.Update(ctx, o.condition)).To(Succeed())
			return update()
		}
		Expect(r.look(ctx, readCondition, writeCondition+" (409)")).To(Equal(5 * time.Millisecond))
		Expect(r.log.take()).To(BeEmpty())
		Expect(r.look(ctx, readCondition, readCondition, writeCondition)).To(Equal(time.Minute))
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))
		Expect(o.condition.Spec.Deployments).To(Equal([]string{"another"}))
	})

	It("does not believe that what it cannot confirm was not written", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		lose := func(update func() error) error {
			r.update = nil
			Expect(update()).To(Succeed())
			return errors.New("the connection was lost")
		}
		r.all.items[0], r.update = told("cache", rollsOut), lose
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))

		By("wanting again what it told before")
		r.all.items[0] = told("cache", complete)
		Expect(r.look(ctx)).To(Equal(30 * time.Second))
		r.after(30 * time.Second)
		r.look(ctx, readCondition, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))

		By("wanting still what got lost")
		r.all.items[0], r.update = told("cache", rollsOut), lose
		r.look(ctx, readCondition, writeCondition)
		r.log.take()
		r.look(ctx, readCondition)
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("OLM knows again whether it may upgrade the operator")))
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))
	})

	It("complains once of an API server that does not answer, backs off, and recovers", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.log.take()
		r.all.items[0] = told("cache", rollsOut)
		r.update = func(func() error) error { return errors.New("connection refused") }
		Expect(r.look(ctx, readCondition)).To(Equal(5 * time.Millisecond))
		Expect(r.log.take()).To(ConsistOf(And(ContainSubstring("cannot be read or written"), ContainSubstring("connection refused"))))
		longest := time.Duration(0)
		for range 20 {
			longest = max(longest, r.look(ctx, readCondition, readCondition))
		}
		Expect(longest).To(Equal(45 * time.Second))
		Expect(r.log.take()).To(BeEmpty())
		r.update = nil
		r.look(ctx, readCondition, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade("cache")))
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("Reported to OLM")))
		Expect(r.look(ctx)).To(Equal(time.Minute))

		By("failing another time, which is news")
		r.update = func(func() error) error { return errors.New("connection refused") }
		r.all.items[0] = told("cache", complete)
		r.after(time.Hour)
		Expect(r.look(ctx, readCondition)).To(Equal(5 * time.Millisecond))
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("cannot be read or written")))
	})
})

var _ = Describe("An OperatorCondition that is not there", Ordered, func() {
	It("is complained of in words, once for each cause, until OLM has made it", func(ctx SpecContext) {
		o := newOLM(ctx)
		r := newReporter()
		answers := func() []string { r.reconcile(ctx); return conditionRequests(r.requests) }

		By("missing the CustomResourceDefinition")
		Expect(r.look(ctx)).To(Equal(5 * time.Millisecond))
		Expect(r.look(ctx)).To(Equal(10 * time.Millisecond))
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("no OperatorCondition resources: install OLM v0, or unset OPERATOR_CONDITION_NAME")))

		By("missing the permission")
		installOLM()
		Eventually(ctx, answers).Should(ContainElement(readCondition + " (403)"))
		Expect(r.look(ctx, readCondition+" (403)")).NotTo(BeZero())
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("OLM has not granted get and update of the OperatorCondition")))

		By("missing the object")
		o.grant(ctx)
		Eventually(ctx, answers).Should(ContainElement(readCondition + " (404)"))
		Expect(r.look(ctx, readCondition+" (404)")).NotTo(BeZero())
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("the OperatorCondition that OPERATOR_CONDITION_NAME names, and which OLM makes, does not exist")))

		By("missing nothing")
		o.create(ctx)
		Expect(r.look(ctx, readCondition, readCondition, writeCondition)).To(BeZero())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})
})
