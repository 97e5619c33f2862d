// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("An object of ours that", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("has lost its owner is adopted with one write", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		deployment := live(ctx, mc, &appsv1.Deployment{})
		change(ctx, deployment, func(d *appsv1.Deployment) { d.OwnerReferences = nil })
		Expect(o.try(ctx, mc, writeDeployment)).To(Succeed())
		adopted := live(ctx, mc, &appsv1.Deployment{})
		Expect(metav1.IsControlledBy(adopted, mc)).To(BeTrue())
		Expect(adopted.Spec).To(Equal(deployment.Spec))
		o.step(ctx, mc)
	})

	It("was orphaned by a deletion is adopted by the next Memcached of the name, with the pods as they are", func(ctx SpecContext) {
		earlier := converged(ctx, o, 3)
		pods := pods(ctx, earlier.Namespace, earlier.Name)
		Expect(user.Delete(ctx, earlier)).To(Succeed())
		for _, child := range []client.Object{&corev1.Service{}, &policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}} {
			// The garbage collector does so if the deletion asks for it.
			change(ctx, live(ctx, earlier, child), func(child client.Object) { child.SetOwnerReferences(nil) })
		}
		template := live(ctx, earlier, &appsv1.Deployment{}).Spec.Template
		mc := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: earlier.Namespace, Name: earlier.Name},
			Spec:       cachev1alpha1.MemcachedSpec{Size: 3},
		}
		Expect(user.Create(ctx, mc)).To(Succeed())
		newer := newOperator(memcached.Options{DefaultImage: "memcached:1.6.46"})
		Expect(newer.try(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)).To(Succeed())
		adopted := live(ctx, mc, &appsv1.Deployment{})
		Expect(metav1.IsControlledBy(adopted, mc)).To(BeTrue())
		Expect(adopted.OwnerReferences).To(HaveLen(1))
		Expect(adopted.Spec.Template).To(Equal(template))
		report(ctx, mc, func(*appsv1.DeploymentStatus) {})
		Expect(newer.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(status(ctx, mc).Nodes).To(HaveLen(len(pods)))
	})

	It("lost its label is deleted, a PodDisruptionBudget, when it is disabled", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}), func(b *policyv1.PodDisruptionBudget) { b.Labels = nil })
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		Expect(o.try(ctx, mc, deleteBudget, writeStatus)).To(Succeed())
		Expect(o.requests.Gets()).To(Equal([]string{"get poddisruptionbudgets"}))
		o.step(ctx, mc)
	})
})
