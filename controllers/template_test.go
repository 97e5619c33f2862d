// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const hashAnnotation = "cache.example.com/applied-hash"

var _ = Describe("A write of the Deployment", func() {
	steady := []string{"True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected"}

	It("is no rollout if it leaves the pods as they are, also before the Deployment controller has seen it", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)

		By("changing a field that replaces no pod")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 5 })
		o.step(ctx, mc, writeDeployment, writeStatus)
		expectConditions(ctx, mc, steady[0], steady[1], steady[2], steady[3])
		o.step(ctx, mc)

		By("doing so again before the first is seen, in another process")
		o = newOperator(defaults)
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To(int32(9)) })
		o.corrects(ctx, mc, writeDeployment)
		o.step(ctx, mc)

		By("restoring an annotation, and an owner reference")
		o.wait(2 * time.Minute)
		report(ctx, mc, func(*appsv1.DeploymentStatus) {})
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { delete(d.Annotations, hashAnnotation) })
		o.corrects(ctx, mc, writeDeployment)
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) {
			d.OwnerReferences[0].BlockOwnerDeletion = ptr.To(false)
		})
		o.corrects(ctx, mc, writeDeployment)

		By("rendering another hash, as an upgrade of the operator may")
		report(ctx, mc, func(*appsv1.DeploymentStatus) {})
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Annotations[hashAnnotation] = "of-another-version" })
		o = newOperator(defaults)
		o.step(ctx, mc, writeDeployment)
		o.step(ctx, mc)
		newOperator(defaults).step(ctx, mc)
		Expect(o.events()).To(BeEmpty())
	})

	It("is a rollout if it puts a template back, until the Deployment controller has seen it", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "somebody/elses"
		})
		o.corrects(ctx, mc, writeDeployment, writeStatus)
		expectConditions(ctx, mc, "False/RollingOut", "True/AsExpected", "True/RollingOut", "False/AsExpected")
		Expect(status(ctx, mc).UpdatedReplicas).To(BeZero())
		o.step(ctx, mc)

		By("restoring an annotation meanwhile, in another process")
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { delete(d.Annotations, hashAnnotation) })
		o = newOperator(defaults)
		o.step(ctx, mc, writeDeployment)
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
	})
})
