// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

func twoCopies(mc *cachev1alpha1.Memcached) {
	stable(mc)
	mc.Spec.Copies = 2
}

var _ = Describe("A Memcached with copies", Label("copies"), func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	reconcile := func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		GinkgoHelper()
		o.wait(time.Minute) // the status reports progress only every five seconds
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
	}
	names := func(ctx context.Context, mc *cachev1alpha1.Memcached) []string {
		GinkgoHelper()
		var names []string
		for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
			if pod.Labels[memcached.NameLabel] != memcached.ProxyName {
				names = append(names, pod.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	// labelled asks for new pods, and lets the StatefulSet controller observe their template.
	labelled := func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		GinkgoHelper()
		change(ctx, mc, inTeam)
		reconcile(ctx, mc)
		observeSet(ctx, mc)
		rollOutProxies(ctx, mc)
	}

	It("has a StatefulSet for each copy, and its status counts the first", func(ctx SpecContext) {
		mc := settledFront(ctx, o, twoCopies)
		Expect(setOf(ctx, mc, 1).Spec.ServiceName).To(Equal(setOf(ctx, mc, 0).Spec.ServiceName))
		Expect(live(ctx, mc, &policyv1.PodDisruptionBudget{}).Spec.MaxUnavailable).To(Equal(ptr.To(intstr.FromInt32(1))))
		status := status(ctx, mc)
		Expect(status.Nodes).To(Equal([]string{"cache-0", "cache-1", "cache-2"}))
		Expect([]int32{status.Replicas, status.ReadyReplicas, status.UpdatedReplicas}).To(Equal([]int32{3, 3, 3}))
		Expect(status.Selector).To(ContainSubstring(memcached.CopyLabel + "=a"))
		Expect(message(ctx, mc, "Ready")).To(Equal("6 of 6 nodes and 2 of 2 proxies are ready"))
		o.nodes.look()
		o.step(ctx, mc)
		Expect(o.nodes.look()).NotTo(ContainElement("cache-0"), "nodes that are known to be filled")
	})

	It("is not given the StatefulSet of another Memcached, which is named", func(ctx SpecContext) {
		mc := settled(ctx, o, stable, func(mc *cachev1alpha1.Memcached) { mc.Name = "cache-b" })
		other := newMemcached(ctx, 3, twoCopies, func(mc2 *cachev1alpha1.Memcached) { mc2.Namespace = mc.Namespace })
		reconcile(ctx, other)
		Expect(message(ctx, other, "Degraded")).To(And(ContainSubstring("StatefulSet"), ContainSubstring("cache-b")))
		Expect(summary(ctx, other, "Degraded")).To(Equal("True/Conflict"))
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
	})

	It("replaces one node at a time, by eviction, and only while another copy has its items", func(ctx SpecContext) {
		mc := settledFront(ctx, o, twoCopies)
		labelled(ctx, mc)
		reconcile(ctx, mc)
		Expect(o.nodes.look()).To(ContainElements("cache-2", "cache-b-2"))
		Expect(names(ctx, mc)).To(Equal([]string{"cache-0", "cache-1", "cache-2", "cache-b-0", "cache-b-1"}))
		reconcile(ctx, mc)
		Expect(names(ctx, mc)).To(HaveLen(5), "one budget over all copies")

		By("the new node being empty")
		o.nodes.fills = map[string]*protocol.Fill{"cache-b-2": {State: protocol.FillCopying}}
		observeSet(ctx, mc)
		for range 5 { // the other nodes wait, too: clients do not use this one yet
			reconcile(ctx, mc)
			observeSet(ctx, mc)
		}
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("cache-b-2 is not ready yet"))
		o.nodes.fills = nil
		o.goes(ctx, mc, 12)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		for _, name := range names(ctx, mc) {
			Expect(podOf(ctx, mc, name).Labels).To(HaveKeyWithValue("team", "a"))
		}
	})

	It("does not stop a node while another process stops its copy, although the cache does not know that", func(ctx SpecContext) {
		mc := settledFront(ctx, o, twoCopies)
		labelled(ctx, mc)
		second := newOperator(defaults)
		second.nodes, second.Nodes = o.nodes, o.nodes
		second.outdatedPods = pods(ctx, mc.Namespace, mc.Name)
		reconcile(ctx, mc)
		Expect(names(ctx, mc)).To(HaveLen(5))
		second.wait(time.Minute)
		Expect(second.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(names(ctx, mc)).To(HaveLen(5))
	})

	It("names the budget that does not let a node leave for ten minutes", func(ctx SpecContext) {
		mc := settledFront(ctx, o, twoCopies)
		for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
			pod.Status.Phase = corev1.PodRunning // others may always be evicted
			Expect(user.Status().Update(ctx, &pod)).To(Succeed())
		}
		budget := live(ctx, mc, &policyv1.PodDisruptionBudget{})
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, CurrentHealthy: 5, DesiredHealthy: 5, ExpectedPods: 6}
		Expect(user.Status().Update(ctx, budget)).To(Succeed())
		labelled(ctx, mc)
		reconcile(ctx, mc)
		Expect(names(ctx, mc)).To(HaveLen(6))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("True/RollingOut"))
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("its eviction is refused: The disruption budget cache needs 5 healthy pods"))
		Expect(o.Reconcile(ctx, request(mc))).To(HaveField("RequeueAfter", 15*time.Second))
		o.wait(11 * time.Minute)
		result, err := o.Reconcile(ctx, request(mc))
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(Equal(15*time.Second), "the budget may stand for days")
		Expect(summary(ctx, mc, "Progressing")).To(Equal("False/Stuck"))
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("its eviction is refused: The disruption budget cache needs 5 healthy pods"))
	})

	It("says which node is being filled, and which serves without items", func(ctx SpecContext) {
		mc := settledFront(ctx, o, twoCopies)
		pod := podOf(ctx, mc, "cache-b-1")
		setReady(ctx, pod, corev1.ConditionFalse)
		o.nodes.fills = map[string]*protocol.Fill{"cache-b-1": {State: protocol.FillWaiting}}
		reconcile(ctx, mc)
		Expect(summary(ctx, mc, "Ready")).To(Equal("False/Filling"))
		setReady(ctx, podOf(ctx, mc, "cache-b-1"), corev1.ConditionTrue)
		o.nodes.fills["cache-b-1"] = &protocol.Fill{State: protocol.FillFailed, From: "cache-1", Reason: "connection refused"}
		reconcile(ctx, mc)
		Expect(message(ctx, mc, "Degraded")).To(HavePrefix("the node cache-b-1 serves without the items of the other copies"))
		Expect(summary(ctx, mc, "Available")).To(Equal("True/AsExpected"))
		o.nodes.look()
		o.nodes.fills = nil
		reconcile(ctx, mc)
		Expect(o.nodes.look()).To(And(ContainElement("cache-b-1"), Not(ContainElement("cache-1"))), "the others are known to be filled")
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})
})
