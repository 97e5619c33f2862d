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
	logf "sigs.k8s.io/controller-runtime/pkg/log"

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

	// first returns a new reporter that has reported that OLM may upgrade.
	first := func(ctx context.Context, all ...cachev1alpha1.Memcached) *reporter {
		GinkgoHelper()
		r := newReporter(all...)
		r.look(ctx, readCondition, readCondition, writeCondition)
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
			r.look(ctx)
		}

		By("restarting")
		again := newReporter(r.all.items...)
		again.look(ctx, readCondition)
		Expect(again.log.take()).To(BeEmpty())
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
		Expect(o.condition.ResourceVersion).To(Equal(version))
	})

	It("holds an upgrade back while a rollout progresses, and a little longer", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))
		r.after(20 * time.Second)
		r.look(ctx)

		By("seeing it end, and another one begin before long")
		r.all.items[0] = told("cache", complete)
		r.after(29 * time.Second)
		r.look(ctx)
		r.all.items = append(r.all.items, told("sessions", rollsOut))
		r.after(time.Second)
		r.look(ctx)

		By("seeing it end")
		r.all.items = r.all.items[:1]
		r.after(30*time.Second - 1)
		r.look(ctx)
		r.after(1)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})

	It("does not hold the upgrade back that may mend a rollout", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)

		By("seeing it stuck")
		r.all.items[0] = told("cache", cachev1alpha1.ReasonStuck)
		r.after(30 * time.Second)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))

		By("seeing it go on")
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))

		By("seeing its status change, and then never again")
		for i := range 20 {
			r.after(10 * time.Minute)
			r.all.items[0].ResourceVersion = fmt.Sprint("later ", i)
			r.look(ctx)
		}
		r.after(15 * time.Minute)
		r.look(ctx)
		r.after(time.Minute)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})

	It("waits longer for nodes that must be ready for an hour", func(ctx SpecContext) {
		mc := told("cache", rollsOut)
		mc.Spec.UpdateStrategy.MinReadySeconds = 3600
		r := newReporter(mc)
		r.look(ctx, readCondition, readCondition, writeCondition)
		r.after(75 * time.Minute)
		r.look(ctx)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))
		r.after(30 * time.Second)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})

	It("writes when the answer changes, however many rollouts there are", func(ctx SpecContext) {
		const number = 1000
		r := first(ctx)
		writes := 0
		r.update = func(update func() error) error { writes++; return update() }
		for i := range number {
			r.all.items = []cachev1alpha1.Memcached{told(fmt.Sprint("cache-", i), rollsOut), told(fmt.Sprint("cache-", i+1), rollsOut)}
			r.Report(ctx)
			r.after(5 * time.Second)
		}
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))
		Expect(writes).To(Equal(1))
	})

	It("writes beside an override of the administrator, and leaves it alone", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		override := `{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Decided","message":"I know"}]}}`
		Expect(o.client.Patch(ctx, o.condition, client.RawPatch(types.MergePatchType, []byte(override)))).To(Succeed())
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))
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
		r.look(ctx, readCondition, writeCondition+" (409)")
		Expect(r.log.take()).To(BeEmpty())
		r.look(ctx, readCondition, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))
		Expect(o.condition.Spec.Deployments).To(Equal([]string{"another"}))
	})

	It("does not believe that what it cannot confirm was not written", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.update = func(update func() error) error {
			r.update = nil
			Expect(update()).To(Succeed())
			return errors.New("the connection was lost")
		}
		r.all.items[0] = told("cache", rollsOut)
		r.look(ctx, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))

		By("wanting again what it told before")
		r.all.items[0] = told("cache", complete)
		r.after(30 * time.Second)
		r.look(ctx, readCondition, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})

	It("complains once of an API server that does not answer, and recovers", func(ctx SpecContext) {
		r := first(ctx, told("cache", complete))
		r.log.take()
		r.all.items[0] = told("cache", rollsOut)
		r.update = func(func() error) error { return errors.New("connection refused") }
		r.look(ctx, readCondition)
		Expect(r.log.take()).To(ConsistOf(And(ContainSubstring("OLM does not learn"), ContainSubstring("connection refused"))))
		r.look(ctx, readCondition, readCondition)
		Expect(r.log.take()).To(BeEmpty())
		r.update = nil
		r.look(ctx, readCondition, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayNotUpgrade))
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("Reported to OLM")))

		By("failing another time, which is news")
		r.update = func(func() error) error { return errors.New("connection refused") }
		r.all.items[0] = told("cache", complete)
		r.after(time.Hour)
		r.look(ctx, readCondition)
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("connection refused")))
	})
})

var _ = Describe("An OperatorCondition that is not there", Ordered, func() {
	It("is complained of, once for each cause, until OLM has made it", func(ctx SpecContext) {
		o := newOLM(ctx)
		r := newReporter()
		answers := func() []string {
			r.requests.Reset()
			r.Report(logf.IntoContext(ctx, r.log.logger(0)))
			return conditionRequests(r.requests)
		}

		By("missing the CustomResourceDefinition")
		r.look(ctx)
		r.look(ctx)
		Expect(r.log.take()).To(ConsistOf(ContainSubstring("no matches for kind")))

		By("missing the permission")
		installOLM()
		Eventually(ctx, answers).Should(ContainElement(readCondition + " (403)"))
		Expect(r.log.take()).To(ContainElement(ContainSubstring("is forbidden")))

		By("missing the object")
		o.grant(ctx)
		Eventually(ctx, answers).Should(ContainElement(readCondition + " (404)"))

		By("missing nothing")
		o.create(ctx)
		r.look(ctx, readCondition, readCondition, writeCondition)
		Expect(o.knows(ctx)).To(Equal(mayUpgrade))
	})
})
