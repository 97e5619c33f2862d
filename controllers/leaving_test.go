// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A workload that the nodes leave", func() {
	It("shrinks although somebody has added a container with a variable twice, which goes when the nodes return", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet })
		Expect(o.try(ctx, mc, writeArguments, writeStatefulSet, writeStatus)).To(Succeed())
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{
				Name: "side", Image: "side:1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}},
			})
		})
		rollOut(ctx, mc)
		template := live(ctx, mc, &appsv1.Deployment{}).Spec.Template
		rollOutSet(ctx, mc)
		Expect(o.try(ctx, mc, writeDeployment, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Template).To(Equal(template))

		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadDeployment })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Containers).To(HaveLen(1))
	})

	It("is put back when somebody else scales it", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet })
		Expect(o.try(ctx, mc, writeArguments, writeStatefulSet, writeStatus)).To(Succeed())
		rollOutSet(ctx, mc)
		Expect(o.try(ctx, mc, writeDeployment, writeStatus)).To(Succeed())
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.OwnerReferences = ptr.To(int32(9)), nil
		})
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		deployment := live(ctx, mc, &appsv1.Deployment{})
		Expect(deployment.Spec.Replicas).To(HaveValue(BeNumerically("<=", 2)))
		Expect(deployment.OwnerReferences).To(HaveLen(1))
	})
})
