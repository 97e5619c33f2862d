// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// tellProgress is how often the status reports the progress of a change.
const tellProgress = 5 * time.Second

var _ = Describe("The progress of a change", func() {
	const nodes = 5
	become := func(ctx context.Context, pod *corev1.Pod, ready corev1.ConditionStatus) {
		GinkgoHelper()
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
	}

	It("is told every five seconds, and its end and bad news at once", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, nodes)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) })
		o.step(ctx, mc, writeDeployment, writeStatus)
		Expect(status(ctx, mc).Nodes).To(HaveLen(nodes))
		old := pods(ctx, mc.Namespace, mc.Name)

		By("one node that goes")
		Expect(user.Delete(ctx, &old[0], client.GracePeriodSeconds(0))).To(Succeed())
		o.wait(time.Second)
		o.step(ctx, mc)
		Expect(o.result.RequeueAfter).To(Equal(tellProgress - time.Second))

		By("another one that comes")
		newPod(ctx, mc, "first", corev1.ConditionTrue)
		o.wait(tellProgress - time.Second)
		o.step(ctx, mc, writeStatus)
		Expect(o.result.RequeueAfter).To(BeZero())
		Expect(status(ctx, mc).Nodes).To(ContainElement(mc.Name + "-first"))

		By("too many that are not ready")
		for i := range old[1:] {
			become(ctx, &old[1+i], corev1.ConditionFalse)
		}
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Available")).To(Equal("False/NotReady"))

		By("enough that are ready")
		for i := range old[1:] {
			become(ctx, &old[1+i], corev1.ConditionTrue)
		}
		o.step(ctx, mc)
		Expect(o.result.RequeueAfter).To(Equal(tellProgress))

		By("trouble")
		old[1].Status.ContainerStatuses = waiting("ImagePullBackOff", "Back-off pulling image")
		become(ctx, &old[1], corev1.ConditionFalse)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/ImagePullFailed"))

		By("a pause, and its end")
		for _, paused := range []bool{true, false} {
			pause(ctx, mc, paused)
			o.step(ctx, mc, writeStatus)
		}

		By("another change")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(true) })
		o.step(ctx, mc, writeDeployment, writeStatus)

		By("its end")
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
	})

	It("is told at once by another process", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, nodes)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) })
		o.step(ctx, mc, writeDeployment, writeStatus)
		newPod(ctx, mc, "first", corev1.ConditionFalse)
		newOperator(defaults).step(ctx, mc, writeStatus)
	})
})
