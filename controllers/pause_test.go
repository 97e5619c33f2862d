// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A paused Memcached", func() {
	It("writes nothing to its children, tells what it observes, and goes on when resumed", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)

		By("being Ready while there is nothing to hold back")
		pause(ctx, mc, true)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/Paused", "False/AsExpected")
		Expect(o.events()).To(ConsistOf(HavePrefix("Normal Paused")))

		By("not knowing whether it is Ready when there is")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		expectConditions(ctx, mc, "Unknown/Paused", "True/AsExpected", "False/Paused", "False/AsExpected")
		Expect(*live(ctx, mc, &appsv1.Deployment{}).Spec.Replicas).To(Equal(int32(3)))
		const size = "spec.paused holds back: the Deployment, scaling from 3 to 5 nodes, which remaps keys"
		Expect(message(ctx, mc, "Ready")).To(Equal(size))

		By("saying what a change costs, and the command that resumes")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Image, mc.Spec.Config.Memory = "memcached:1.6.46", ptr.To(resource.MustParse("128Mi"))
		})
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(message(ctx, mc, "Progressing")).To(Equal(size + "; " +
			"the nodes will be replaced, without their items. To resume: " +
			"kubectl patch memcached " + mc.Name + " -n " + mc.Namespace + ` --type=merge -p '{"spec":{"paused":false}}'`))
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Image, mc.Spec.Config.Memory = "", nil })
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(message(ctx, mc, "Ready")).To(Equal(size))

		By("leaving a deleted child alone, and still observing")
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		removePods(ctx, mc)
		o.wait(tellProgress)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(status(ctx, mc).Nodes).To(BeEmpty())
		Expect(message(ctx, mc, "Progressing")).To(HavePrefix("spec.paused holds back: the Service, the Deployment, scaling from 3 to 5 nodes, which remaps keys. To resume: "))
		o.events()

		By("going on")
		pause(ctx, mc, false)
		o.step(ctx, mc, writeService, writeDeployment, writeStatus)
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
	})

	It("still says so if the cache does not hold that object", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1)
		theirs := probe(mc)
		theirs.GenerateName, theirs.Name = "", mc.Name+"-nodes"
		Expect(user.Create(ctx, theirs)).To(Succeed())
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		pause(ctx, mc, true)
		for range 3 {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
			o.wait(time.Minute)
		}
	})

	It("creates nothing when it is born paused", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Paused = true
		})
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "Unknown/Paused", "False/NotReady", "False/Paused", "False/AsExpected")
	})
})

func pause(ctx context.Context, mc *cachev1alpha1.Memcached, paused bool) {
	GinkgoHelper()
	change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = paused })
}
