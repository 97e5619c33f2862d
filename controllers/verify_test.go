// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("An operator whose cache has an earlier version of the Memcached", func() {
	It("does not undo what another one did since, and goes on with the latest version", func(ctx SpecContext) {
		first := newOperator(defaults)
		mc := converged(ctx, first, 1)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 3 })
		first.step(ctx, mc, writeDeployment, writeStatus)
		rollOut(ctx, mc)
		first.step(ctx, mc, writeStatus)

		second := newOperator(defaults)
		second.outdated = before
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
		second.step(ctx, mc)

		By("writing at once when its cache is right")
		third := newOperator(defaults)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
		third.step(ctx, mc, writeDeployment, writeStatus)
		Expect(third.requests.Lists()).To(Equal([]string{"list memcacheds"}))

		By("asking no more than once")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 4 })
		third.step(ctx, mc, writeDeployment, writeStatus)
		Expect(third.requests.Lists()).To(BeEmpty())
	})

	It("does not undo what another process made of a later spec than the first", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		newOperator(defaults).step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		second := newOperator(defaults)
		second.outdated = before
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
	})

	It("does not mix an earlier status with the latest one", func(ctx SpecContext) {
		first := newOperator(defaults)
		mc := newMemcached(ctx, 1)
		first.step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		rollOut(ctx, mc)
		first.step(ctx, mc, writeStatus)
		second := newOperator(defaults)
		second.outdated, second.outdatedPods = before, []corev1.Pod{}
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
		second.outdatedPods = nil
		second.step(ctx, mc)
	})

	It("does not tell the state of an earlier generation", func(ctx SpecContext) {
		mc := converged(ctx, newOperator(defaults), 1)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
		removePods(ctx, mc)
		second := newOperator(defaults)
		second.outdated = before
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
	})

	It("does not tell the state of a generation without a status, although the children are as it wants them", func(ctx SpecContext) {
		mc := newMemcached(ctx, 2)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		first := newOperator(defaults)
		first.step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		for _, size := range []int32{3, 2} {
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
			first.step(ctx, mc, writeDeployment, writeStatus)
		}
		second := newOperator(defaults)
		second.outdated = before
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
		Expect(status(ctx, mc).ObservedGeneration).To(BeEquivalentTo(3))
		Expect(second.requests.Lists()).To(Equal([]string{"list memcacheds"}))
	})

	It("does not undo what another process made, although its cache has neither a status nor a child", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		newOperator(defaults).step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		second := newOperator(defaults)
		second.outdated, second.stale = before, true
		refused := []string{writeService + " (409)", writeDeployment + " (409)", writeBudget + " (409)"}
		Expect(second.try(ctx, mc, refused...)).NotTo(Succeed())
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
		second.stale = false
		second.step(ctx, mc)
	})

	It("does not undo what another process made, although its cache has nothing of it and one creation succeeds", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		newOperator(defaults).step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		second := newOperator(defaults)
		second.outdated, second.stale = before, true
		Expect(second.try(ctx, mc, writeService, writeDeployment+" (409)", writeBudget+" (409)")).NotTo(Succeed())
		Expect(second.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
	})

	It("creates nothing for one that is deleted, although the garbage collector has begun", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 1)
		o.outdated = live(ctx, mc, &cachev1alpha1.Memcached{})
		Expect(user.Delete(ctx, mc)).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}))).To(Succeed())
		Expect(o.try(ctx, mc)).To(MatchError(ContainSubstring("not received the latest version")))
	})
})
