// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
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
		second.beginsAnew(ctx, mc)
		second.outdated = nil
		second.step(ctx, mc)

		By("writing at once when its cache is right, and asking each time")
		third := newOperator(defaults)
		for _, size := range []int32{2, 4} {
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
			third.step(ctx, mc, writeDeployment, writeStatus)
			Expect(third.requests.Lists()).To(Equal([]string{"list memcacheds"}))
			Expect(third.requests.Gets()).To(Equal([]string{"get deployments"}))
		}
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
		second.beginsAnew(ctx, mc, writeStatus+" (409)")
		second.outdated, second.outdatedPods = nil, nil
		second.step(ctx, mc)
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
		second.beginsAnew(ctx, mc, writeStatus+" (409)")
		Expect(status(ctx, mc).ObservedGeneration).To(BeEquivalentTo(3))
	})

	It("does not undo what another process made, although its cache has nothing of it and one creation succeeds", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		newOperator(defaults).step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		second := newOperator(defaults)
		second.outdated, second.stale = before, true
		second.beginsAnew(ctx, mc, writeService, writeDeployment+" (409)", writeBudget+" (409)")
		second.beginsAnew(ctx, mc)
		second.outdated, second.stale = nil, false
		second.step(ctx, mc)
	})

	DescribeTable("stops before a write, and continues after somebody else has written the object: it writes nothing old",
		func(ctx SpecContext, object client.Object, write string, changes ...func(*cachev1alpha1.Memcached)) {
			former := newOperator(defaults)
			mc := settled(ctx, former, append(changes, func(mc *cachev1alpha1.Memcached) {
				mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{}
			})...)
			change(ctx, live(ctx, mc, object), func(child client.Object) { delete(child.GetLabels(), memcached.NameLabel) })
			var written client.Object
			former.refuse = func(bool) error {
				former.refuse = nil
				pause(ctx, mc, true)
				change(ctx, live(ctx, mc, object), func(child client.Object) { child.SetAnnotations(map[string]string{"written": "later"}) })
				written, _ = live(ctx, mc, object).DeepCopyObject().(client.Object)
				return nil
			}
			former.beginsAnew(ctx, mc, write+" (409)")
			Expect(live(ctx, mc, object)).To(Equal(written))
		},
		Entry("a Service", &corev1.Service{}, writeService),
		Entry("a Deployment", &appsv1.Deployment{}, writeDeployment),
		Entry("a StatefulSet", &appsv1.StatefulSet{}, writeStatefulSet, stable),
	)

	It("stops before it writes the status: it does not mix two statuses", func(ctx SpecContext) {
		former, other := newOperator(defaults), newOperator(defaults)
		mc := newMemcached(ctx, 1)
		former.step(ctx, mc, writeService, writeDeployment, writeBudget, writeStatus)
		rollOut(ctx, mc)
		former.refuse = func(bool) error {
			former.refuse = nil
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
			other.step(ctx, mc, writeDeployment, writeStatus)
			return nil
		}
		Expect(former.try(ctx, mc, writeStatus+" (409)")).To(Succeed())
		Expect(former.result.RequeueAfter).To(Equal(time.Second))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("True/Scaling"))
	})

	It("creates nothing for one that is deleted, although the garbage collector has begun", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 1)
		o.outdated = live(ctx, mc, &cachev1alpha1.Memcached{})
		Expect(user.Delete(ctx, mc)).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}))).To(Succeed())
		Expect(o.try(ctx, mc)).To(Succeed())
		Expect(o.result.RequeueAfter).To(Equal(time.Second))
	})
})
