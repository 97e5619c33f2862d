// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("The NetworkPolicy of a Memcached", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("is created when the spec has one, corrected, and deleted when it is not wanted", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })
		o.step(ctx, mc, writePolicy, writeStatus)
		o.step(ctx, mc)
		By("taking back a way in that somebody opened")
		change(ctx, live(ctx, mc, &networkingv1.NetworkPolicy{}), func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
			p.Spec.Egress, p.Spec.PolicyTypes = []networkingv1.NetworkPolicyEgressRule{{}}, append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		})
		o.corrects(ctx, mc, writePolicy)
		spec := live(ctx, mc, &networkingv1.NetworkPolicy{}).Spec
		Expect(spec.Ingress).To(HaveLen(1))
		Expect(spec.Egress).To(BeEmpty())
		By("changing the clients with one write")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy.From = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}}
		})
		o.step(ctx, mc, writePolicy, writeStatus)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.NetworkPolicy = nil })
		o.step(ctx, mc, deletePolicy, writeStatus)
		o.step(ctx, mc)
	})

	It("comes before the nodes: none starts while it cannot be created", func(ctx SpecContext) {
		theirs := &networkingv1.NetworkPolicy{}
		mc := newMemcached(ctx, 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{}
			theirs.Name, theirs.Namespace = mc.Name, mc.Namespace
			Expect(user.Create(ctx, theirs)).To(Succeed())
		})
		o.beginsAnew(ctx, mc, writeService, writeBudget, writePolicy+" (409)")
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		expectConditions(ctx, mc, "False/Conflict", "False/NotReady", "False/Stuck", "True/Conflict")
		By("the one in the way is gone")
		Expect(user.Delete(ctx, theirs)).To(Succeed())
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writePolicy, writeDeployment, writeStatus)).To(Succeed())
	})
})
