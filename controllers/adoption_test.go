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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("An object of ours that", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("was orphaned by a deletion is adopted by the next Memcached of the name, with the pods as they are", func(ctx SpecContext) {
		earlier := converged(ctx, o, 3)
		pods := pods(ctx, earlier.Namespace, earlier.Name)
		Expect(user.Delete(ctx, earlier)).To(Succeed())
		for _, child := range []client.Object{&corev1.Service{}, &policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}} {
			// The garbage collector removes the owner references when a deletion orphans the children.
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

	It("was made for the proxies of another Memcached is left alone, and the condition names its owner", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1, func(mc *cachev1alpha1.Memcached) { mc.Name = "web-proxy" })
		other := newMemcached(ctx, 1, func(other *cachev1alpha1.Memcached) { other.Namespace, other.Name = mc.Namespace, "web" })
		theirs := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: mc.Namespace, Name: mc.Name, Labels: memcached.ProxyLabels(other.Name),
				Annotations: map[string]string{memcached.AppliedHashAnnotation: "0123456789abcdef"},
			},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: memcached.ProxyLabels(other.Name)},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: memcached.ProxyLabels(other.Name)},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
				},
			},
		}
		Expect(user.Create(ctx, theirs)).To(Succeed())
		Expect(o.try(ctx, mc, writeService, writeBudget, writeStatus)).To(Succeed())
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring("belongs to nobody"), "an orphan of another is not adopted")

		Expect(controllerutil.SetControllerReference(other, theirs, user.Scheme())).To(Succeed())
		Expect(user.Update(ctx, theirs)).To(Succeed())
		o.wait(5 * time.Second) // the condition Degraded only has another message
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring("Deployment web-proxy exists already and belongs to Memcached web"))
		Expect(live(ctx, mc, &appsv1.Deployment{})).To(HaveField("Generation", Equal(theirs.Generation)))
	})
})
