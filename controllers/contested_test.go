// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("Somebody who keeps writing what follows from a Memcached", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	// scale sets the size of the Deployment as an autoscaler does.
	scale := func(ctx SpecContext, mc *cachev1alpha1.Memcached, replicas int32) {
		GinkgoHelper()
		scale := &autoscalingv1.Scale{}
		deployment := live(ctx, mc, &appsv1.Deployment{})
		Expect(user.SubResource("scale").Get(ctx, deployment, scale)).To(Succeed())
		scale.Spec.Replicas = replicas
		Expect(user.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale),
			client.FieldOwner("autoscaler"))).To(Succeed())
	}
	replicas := func(ctx SpecContext, mc *cachev1alpha1.Memcached) int32 {
		return *live(ctx, mc, &appsv1.Deployment{}).Spec.Replicas
	}

	It("is named with the third correction, corrected every 30 s from then on, and forgotten when it stops", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		for range 2 {
			scale(ctx, mc, 3)
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(replicas(ctx, mc)).To(BeEquivalentTo(1))
			rollOut(ctx, mc)
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
			Expect(o.events()).To(ContainElement("Warning Corrected Deployment cache was changed by autoscaler (spec.replicas): restored"))
			o.wait(15 * time.Second)
		}
		scale(ctx, mc, 3)
		for range 2 { // the write causes another reconcile, which tells it
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(replicas(ctx, mc)).To(BeEquivalentTo(1))
		}
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/FieldContested"))
		Expect(message(ctx, mc, "Degraded")).To(Equal("spec.replicas of Deployment cache is changed again and again by autoscaler: " +
			"aim what scales it at the Memcached, whose spec.size has the subresource scale"))
		Expect(o.events()).To(And(ContainElement(HavePrefix("Warning FieldContested spec.replicas of Deployment cache")),
			Not(ContainElement(HavePrefix("Warning Corrected")))))

		By("leaving it alone for half a minute")
		o.wait(15 * time.Second)
		scale(ctx, mc, 3)
		Expect(o.Reconcile(ctx, request(mc))).To(HaveField("RequeueAfter", 15*time.Second))
		Expect(replicas(ctx, mc)).To(BeEquivalentTo(3))
		o.wait(15 * time.Second)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(replicas(ctx, mc)).To(BeEquivalentTo(1))

		Expect(o.events()).NotTo(ContainElement(HavePrefix("Warning Corrected")), "FieldContested tells it")

		By("counting the corrections")
		Expect(testutil.GatherAndCount(o.registry, "memcached_operator_corrections_total")).To(Equal(1))

		By("writing what the user wants in the meantime at once")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(replicas(ctx, mc)).To(BeEquivalentTo(2))

		By("recovering by itself")
		rollOut(ctx, mc)
		Expect(o.recovers(ctx, mc)).To(Equal(2 * time.Minute))
	})

	It("does not make a template that was put back look refused", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		for range 4 {
			change(ctx, live(ctx, mc, &corev1.Service{}), func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true })
			change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Spec.Template.Spec.HostPID = true })
			o.wait(20 * time.Second)
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads++ })
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/FieldContested"))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("True/RollingOut"))
	})

	It("may be another operator with other settings", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		other := newOperator(memcached.Options{DefaultImage: "memcached:1.6.45", OmitRunAsUser: true})
		for range 4 {
			Expect(other.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/FieldContested"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring(
			"another Memcached operator manages the same namespace with other settings: let only one do so"))
	})
})

// recovers reconciles again each time RequeueAfter has passed, until RequeueAfter is 0. It expects that the Memcached is then Ready
// without a problem. It returns the sum of all values of RequeueAfter.
func (o *operator) recovers(ctx context.Context, mc *cachev1alpha1.Memcached) (waited time.Duration) {
	GinkgoHelper()
	Eventually(func() time.Duration {
		result, err := o.Reconcile(ctx, request(mc))
		Expect(err).NotTo(HaveOccurred())
		waited += result.RequeueAfter
		o.wait(result.RequeueAfter)
		return result.RequeueAfter
	}).Should(BeZero(), "it looks again by itself")
	expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
	return waited
}
