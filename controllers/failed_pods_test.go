// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A pod that the kubelet evicts", func() {
	const words = "The node was low on resource: memory."
	evict := func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		GinkgoHelper()
		pod := pods(ctx, mc.Namespace, mc.Name)[0]
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", words
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodFailed"}}
		Expect(user.Status().Update(ctx, &pod)).To(Succeed())
	}
	replace := func(ctx context.Context, mc *cachev1alpha1.Memcached, ready corev1.ConditionStatus) {
		GinkgoHelper()
		newPod(ctx, mc, "replacement", ready)
	}

	It("is told with its words until another one runs, and then forgotten", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		evict(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/NodesFailed", "True/MinimumNodesReady", "False/Complete", "True/NodesFailed")
		Expect(message(ctx, mc, "Degraded")).To(Equal("A pod failed: Evicted: " + words))
		Expect(status(ctx, mc).Nodes).To(HaveLen(2))
		Expect(o.events()).To(ConsistOf("Warning NodesFailed A pod failed: Evicted: " + words))

		replace(ctx, mc, corev1.ConditionTrue)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/MinimumNodesReady", "False/Complete", "False/AsExpected")
		o.step(ctx, mc)
	})

	It("is seen by a running manager", func(ctx SpecContext) {
		start(ctx, "", 0)
		mc := newMemcached(ctx, 1)
		ready(ctx, mc)
		evict(ctx, mc)
		Eventually(ctx, func() string { return summary(ctx, mc, "Degraded") }).Should(Equal("True/NodesFailed"))
		Expect(message(ctx, mc, "Degraded")).To(Equal("A pod failed: Evicted: " + words))
		Expect(status(ctx, mc).Nodes).To(BeEmpty())
		replace(ctx, mc, corev1.ConditionTrue)
		Eventually(ctx, func() string { return summary(ctx, mc, "Ready") }).Should(Equal("True/AllNodesReady"))
	})
})
