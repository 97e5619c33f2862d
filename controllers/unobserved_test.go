// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A Memcached that cannot be observed", func() {
	// hide takes the Deployment from the cache, which selects objects by their labels. So the operator asks the API server for it.
	hide := func(ctx context.Context, o *operator, mc *cachev1alpha1.Memcached) {
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 4 })
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Labels = nil })
		o.wait(time.Minute)
	}

	It("tells which permission is missing, and goes on when it is there", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 2)
		before := status(ctx, mc)
		o.events()
		hide(ctx, o, mc)
		o.unreadable = apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, mc.Name,
			errors.New(`User "operator" cannot get resource "deployments" in API group "apps"`))

		Expect(o.try(ctx, mc, writeStatus)).To(MatchError(o.unreadable))
		for conditionType, want := range map[string]string{
			cachev1alpha1.ConditionReady:       "False/ApplyFailed",
			cachev1alpha1.ConditionAvailable:   "True/AsExpected",
			cachev1alpha1.ConditionProgressing: "False/Stuck",
			cachev1alpha1.ConditionDegraded:    "True/ApplyFailed",
			cachev1alpha1.ConditionStalled:     "True/ApplyFailed",
		} {
			Expect(summary(ctx, mc, conditionType)).To(Equal(want), conditionType)
		}
		Expect(message(ctx, mc, cachev1alpha1.ConditionDegraded)).To(ContainSubstring(`cannot get resource "deployments"`))
		Expect(status(ctx, mc).Nodes).To(Equal(before.Nodes))
		Expect(status(ctx, mc).ObservedGeneration).To(Equal(before.ObservedGeneration))
		Expect(o.events()).To(ContainElement(ContainSubstring(`cannot get resource "deployments"`)))
		Expect(testutil.GatherAndCount(o.registry, "memcached_operator_memcached_condition")).To(Equal(4))
		Expect(reconcilesIn(o.registry, "ApplyFailed")).To(BeEquivalentTo(1))

		By("writing nothing while nothing changes")
		Expect(o.try(ctx, mc)).To(MatchError(o.unreadable))
		Expect(o.events()).To(BeEmpty())

		o.unreadable = nil
		Expect(o.try(ctx, mc, writeDeployment, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, cachev1alpha1.ConditionDegraded)).To(Equal("False/AsExpected"))
		Expect(summary(ctx, mc, cachev1alpha1.ConditionProgressing)).To(Equal("True/Scaling"))
	})

	It("waits a minute for an API server that fails to answer", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 1)
		hide(ctx, o, mc)
		o.unreadable = apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
		Expect(o.try(ctx, mc)).NotTo(Succeed())
		Expect(reconcilesIn(o.registry, "Retried")).To(BeEquivalentTo(1))
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeStatus)).NotTo(Succeed())
		Expect(summary(ctx, mc, cachev1alpha1.ConditionDegraded)).To(Equal("True/ApplyFailed"))
	})
})
