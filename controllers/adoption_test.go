// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("An object of ours that", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

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
