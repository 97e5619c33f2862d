// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("What others do to the pods of a Memcached", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	// settle reconciles three times, and expects that the next reconcile writes nothing.
	settle := func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		GinkgoHelper()
		for range 3 {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		o.step(ctx, mc)
	}

	It("is undone, and a new size goes through", func(ctx SpecContext) {
		mc := converged(ctx, o, 3, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		})
		deployment := live(ctx, mc, &appsv1.Deployment{})
		before := deployment.DeepCopy()
		pod := &deployment.Spec.Template.Spec
		pod.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
		pod.Containers[0].SecurityContext.RunAsUser = ptr.To(int64(0))
		pod.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
		pod.InitContainers = append(pod.InitContainers, corev1.Container{Name: "init", Image: "init:1"})
		Expect(user.Update(ctx, deployment, client.FieldOwner("user"))).To(Succeed())

		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		settle(ctx, mc)
		healed := live(ctx, mc, &appsv1.Deployment{})
		Expect(healed.Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		Expect(healed.Spec.Template).To(Equal(before.Spec.Template))
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})

	It("may make the pods be refused for ever, and a new size goes through all the same", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Scheduling.NodeSelector = map[string]string{"not a label": "x"}
			mc.Spec.Size = 5
		})
		before := live(ctx, mc, &appsv1.Deployment{})
		Expect(o.try(ctx, mc, writeDeployment+" (422)", writeDeployment, writeStatus)).To(HaveOccurred())
		after := live(ctx, mc, &appsv1.Deployment{})
		Expect(after.Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		Expect(after.Spec.Template).To(Equal(before.Spec.Template))
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/InvalidSpec"))
		Expect(o.try(ctx, mc, writeDeployment+" (422)")).To(HaveOccurred(), "the rest is as it should be")

		By("letting one field owner have all fields again afterwards")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Scheduling.NodeSelector = nil })
		settle(ctx, mc)
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))

		By("whatever code a webhook refuses with")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Image, mc.Spec.Size = "memcached:2", 6 })
		refused := false
		o.refuse = func(bool) (err error) {
			if !refused {
				refused, err = true, apierrors.NewBadRequest(`admission webhook "images.example.com" denied the request: no`)
			}
			return err
		}
		Expect(o.try(ctx, mc, writeDeployment, writeStatus)).To(HaveOccurred())
		after = live(ctx, mc, &appsv1.Deployment{})
		Expect(after.Spec.Replicas).To(HaveValue(BeEquivalentTo(6)))
		Expect(after.Spec.Template).To(Equal(before.Spec.Template))
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/AdmissionDenied"))
	})

	It("is undone also while the spec asks for too little memory, but for the pods that run", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.Memory = ptr.To(resource.MustParse("73Mi"))
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: tooLittle}
		})
		Expect(o.Reconcile(ctx, request(mc))).Error().To(HaveOccurred())
		expectConditions(ctx, mc, "False/InvalidSpec", "True/AsExpected", "False/Stuck", "True/InvalidSpec")
		template := live(ctx, mc, &appsv1.Deployment{}).Spec.Template

		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}))).To(Succeed())
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(9)) })
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 })
		Expect(o.try(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)).To(Succeed(), "it looks again for the creations")
		Expect(o.result.RequeueAfter).NotTo(BeZero())
		healed := live(ctx, mc, &appsv1.Deployment{})
		Expect(healed.Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		Expect(healed.Spec.Template).To(Equal(template))
		live(ctx, mc, &corev1.Service{})
		live(ctx, mc, &policyv1.PodDisruptionBudget{})
		Expect(o.try(ctx, mc)).To(HaveOccurred(), "there is nothing more to write")
	})

	It("may be the work of a webhook, which is not repeated for ever, and is nothing that a pause holds back", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1)
		policy := rewriteImages(ctx, mc.Namespace)
		rewritten := func() string {
			probe := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, GenerateName: "probe-"}}
			probe.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
			probe.Spec.Template.Labels = probe.Spec.Selector.MatchLabels
			probe.Spec.Template.Spec.Containers = []corev1.Container{{Name: "memcached", Image: "memcached"}}
			Expect(user.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			return probe.Spec.Template.Spec.Containers[0].Image
		}
		Eventually(ctx, rewritten).Should(Equal("mirror.example.com/memcached"))

		Expect(o.try(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)).To(Succeed())
		rollOut(ctx, mc)
		settle(ctx, mc)

		By("being nobody's change for a new process, which tries once")
		restarted := newOperator(defaults)
		Expect(restarted.try(ctx, mc, writeDeployment)).To(Succeed())
		Expect(restarted.events()).To(BeEmpty())
		restarted.step(ctx, mc)

		By("being nothing that a pause holds back")
		pause(ctx, mc, true)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		pause(ctx, mc, false)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())

		By("trying again when something else is wanted, or the webhook has written something else")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) })
		Expect(o.try(ctx, mc, writeDeployment, writeStatus)).To(Succeed())
		settle(ctx, mc)
		Expect(user.Delete(ctx, policy)).To(Succeed())
		Eventually(ctx, rewritten).Should(Equal("memcached"))
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "another.example.com/memcached"
		})
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image).To(Equal("memcached:1.6.45"))
	})
})

// tooLittle is a memory limit that is too low for 73Mi of item memory. The API's validation ignores the exact size of the hash
// table, and accepts this limit.
var tooLittle = resource.MustParse("175Mi")
