// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A size that the cluster does not accept", func() {
	const quota = "exceeded quota: nodes"
	resize := func(ctx context.Context, mc *cachev1alpha1.Memcached, size int32) {
		GinkgoHelper()
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
	}
	// unready makes this number of pods unready, as the kubelet does when nobody can connect to them.
	unready := func(ctx context.Context, mc *cachev1alpha1.Memcached, count int) {
		GinkgoHelper()
		for _, pod := range pods(ctx, mc.Namespace, mc.Name)[:count] {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			Expect(user.Status().Update(ctx, &pod)).To(Succeed())
		}
	}

	It("takes nothing away when the API server refuses it, and hides no outage", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		resize(ctx, mc, 5)
		o.refuse = func(status bool) error {
			if status {
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "cache", errors.New(quota))
		}
		Expect(o.try(ctx, mc, writeStatus)).To(HaveOccurred())
		expectConditions(ctx, mc, "False/QuotaExceeded", "True/MinimumNodesReady", "False/Stuck", "True/QuotaExceeded")
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring(quota))
		Expect(status(ctx, mc)).To(HaveField("UpdatedReplicas", Equal(int32(3))))
		Expect(o.events()).To(ConsistOf(HavePrefix("Warning QuotaExceeded"), HavePrefix("Warning Stuck")))

		By("losing two of three nodes")
		unready(ctx, mc, 2)
		Expect(o.try(ctx, mc, writeStatus)).To(HaveOccurred())
		expectConditions(ctx, mc, "False/QuotaExceeded", "False/NodesUnavailable", "False/Stuck", "True/QuotaExceeded")
		Expect(o.events()).To(ConsistOf("Warning NodesUnavailable 1 of 5 nodes are ready, 2 are needed"))

		By("being accepted")
		o.refuse = nil
		o.step(ctx, mc, writeDeployment, writeStatus)
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/MinimumNodesReady", "False/Complete", "False/AsExpected")
	})

	It("takes nothing away when the pods are refused, and hides no outage", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		resize(ctx, mc, 5)
		o.step(ctx, mc, writeDeployment, writeStatus)
		expectConditions(ctx, mc, "False/Scaling", "True/MinimumNodesReady", "True/Scaling", "False/AsExpected")
		Expect(status(ctx, mc)).To(HaveField("UpdatedReplicas", Equal(int32(3))))
		Expect(o.events()).To(ConsistOf("Normal Scaling Scaling from 3 to 5 nodes"))

		report(ctx, mc, func(status *appsv1.DeploymentStatus) {
			status.Conditions = append(status.Conditions, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: quota,
			})
		})
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/QuotaExceeded", "True/MinimumNodesReady", "False/Stuck", "True/QuotaExceeded")
		Expect(o.events()).To(ConsistOf(HavePrefix("Warning QuotaExceeded"), HavePrefix("Warning Stuck")))

		unready(ctx, mc, 2)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Available")).To(Equal("False/NodesUnavailable"))
		Expect(o.events()).To(ConsistOf("Warning NodesUnavailable 1 of 5 nodes are ready, 4 are needed"))
	})

	It("is told of an outage while it scales", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		resize(ctx, mc, 5)
		o.step(ctx, mc, writeDeployment, writeStatus)
		o.events()
		unready(ctx, mc, 2)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/Scaling", "False/NodesUnavailable", "True/Scaling", "False/AsExpected")
		Expect(o.events()).To(ConsistOf(HavePrefix("Warning NodesUnavailable")))
	})

	It("is no outage when there was no node before", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 0)
		resize(ctx, mc, 3)
		o.step(ctx, mc, writeDeployment, writeStatus)
		expectConditions(ctx, mc, "False/Scaling", "False/NodesUnavailable", "True/Scaling", "False/AsExpected")
		Expect(o.events()).To(ConsistOf("Normal Scaling Scaling from 0 to 3 nodes"))
	})
})
