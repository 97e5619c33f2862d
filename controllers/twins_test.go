// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

func fillFrom(name string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		stable(mc)
		mc.Spec.Config.Dump = ptr.To(true)
		mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: name}
	}
}

var _ = Describe("A Memcached that fills its nodes from another one", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	reconcile := func(ctx context.Context, all ...*cachev1alpha1.Memcached) {
		GinkgoHelper()
		for _, mc := range all {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
	}
	// twins returns two running Memcacheds, each of which fills its nodes from the other.
	twins := func(ctx context.Context) (a, b *cachev1alpha1.Memcached) {
		GinkgoHelper()
		a = newMemcached(ctx, 3, fillFrom("twin"))
		b = newMemcached(ctx, 3, fillFrom("cache"), func(mc *cachev1alpha1.Memcached) { mc.Namespace, mc.Name = a.Namespace, "twin" })
		reconcile(ctx, a, b)
		rollOut(ctx, a)
		rollOut(ctx, b)
		o.nodes.follow(ctx, a, 0, 1, 2)
		o.nodes.follow(ctx, b, 0, 1, 2)
		reconcile(ctx, a, b, a, b)
		Expect(summary(ctx, a, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(summary(ctx, b, "Ready")).To(Equal("True/AllNodesReady"))
		o.nodes.look()
		return a, b
	}
	partition := func(ctx context.Context, mc *cachev1alpha1.Memcached) int32 {
		GinkgoHelper()
		return *live(ctx, mc, &appsv1.StatefulSet{}).Spec.UpdateStrategy.RollingUpdate.Partition
	}
	// seen lets the StatefulSet controller observe a new template.
	seen := func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		GinkgoHelper()
		set := live(ctx, mc, &appsv1.StatefulSet{})
		set.Status.ObservedGeneration, set.Status.UpdateRevision, set.Status.UpdatedReplicas = set.Generation, "next", 0
		Expect(user.Status().Update(ctx, set)).To(Succeed())
	}
	message := func(ctx context.Context, mc *cachev1alpha1.Memcached, condition string) string {
		GinkgoHelper()
		Expect(user.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
		for _, c := range mc.Status.Conditions {
			if c.Type == condition {
				return c.Reason + ": " + c.Message
			}
		}
		return ""
	}

	It("tells launchers from where, publishes nodes that are not ready, and brakes rollouts", func(ctx SpecContext) {
		a, b := twins(ctx)
		Expect(argumentsOf(ctx, a).Data).To(HaveKeyWithValue(protocol.TwinKey, "twin "+a.Namespace+" 3\n"))
		Expect(argumentsOf(ctx, b).Data).To(HaveKeyWithValue(protocol.TwinKey, "cache "+a.Namespace+" 3\n"))
		Expect(live(ctx, a, &corev1.Service{}).Spec.PublishNotReadyAddresses).To(BeTrue())
		Expect(partition(ctx, a)).To(BeEquivalentTo(3))
		Expect(partition(ctx, b)).To(BeEquivalentTo(3))
		o.step(ctx, a)
		o.step(ctx, b)
		Expect(o.nodes.look()).To(BeEmpty(), "nodes that are known to be filled")
	})

	It("is told without a twin, or with one that cannot fill nodes", func(ctx SpecContext) {
		a := newMemcached(ctx, 3, fillFrom("twin"))
		reconcile(ctx, a)
		rollOut(ctx, a)
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("TwinUnusable: spec.fillFrom.name: there is no Memcached twin in the namespace"))
		Expect(argumentsOf(ctx, a).Data).NotTo(HaveKey(protocol.TwinKey))
		Expect(partition(ctx, a)).To(BeZero())

		b := newMemcached(ctx, 2, stable, func(mc *cachev1alpha1.Memcached) { mc.Namespace, mc.Name = a.Namespace, "twin" })
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("TwinUnusable: spec.fillFrom.name: the Memcached twin must have spec.config.dump true"))
		change(ctx, b, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Dump = ptr.To(true) })
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("AsExpected"))
		Expect(argumentsOf(ctx, a).Data).To(HaveKeyWithValue(protocol.TwinKey, "twin "+a.Namespace+" 2\n"))
	})

	It("never replaces a node while its twin does", func(ctx SpecContext) {
		a, b := twins(ctx)
		label := func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
		}
		change(ctx, b, label)
		change(ctx, a, label)
		By("the larger name waits, although it is the first to be looked at")
		reconcile(ctx, b)
		Expect(partition(ctx, b)).To(BeEquivalentTo(3))
		Expect(message(ctx, b, "Progressing")).To(And(HavePrefix("RollingOut: Replacing nodes, while their copies keep the items: "),
			ContainSubstring("Waiting for its twin cache, which rolls out first")))
		By("the smaller one takes its last node, after it has asked the twin of that")
		reconcile(ctx, a)
		Expect(partition(ctx, a)).To(BeEquivalentTo(2))
		Expect(o.nodes.look()).To(ContainElement("twin-2"))
		o.clock.SetTime(o.clock.Now().Add(time.Minute)) // the status reports progress only every five seconds
		seen(ctx, b)
		reconcile(ctx, b)
		Expect(partition(ctx, b)).To(BeEquivalentTo(3))
		Expect(message(ctx, b, "Progressing")).To(ContainSubstring("Waiting for the rollout of its twin cache to end"))
		By("and then the other one goes")
		rollOut(ctx, a)
		o.nodes.follow(ctx, a, 0, 1, 2)
		reconcile(ctx, a, b)
		Expect(partition(ctx, a)).To(BeEquivalentTo(3))
		Expect(partition(ctx, b)).To(BeEquivalentTo(2))
	})

	It("does not stop a node while another process replaces its twin, although the cache does not know that", func(ctx SpecContext) {
		a, b := twins(ctx)
		label := func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
		}
		second := newOperator(defaults)
		second.nodes, second.Nodes, second.outdatedSet = o.nodes, o.nodes, live(ctx, b, &appsv1.StatefulSet{})
		change(ctx, b, label)
		reconcile(ctx, b)
		Expect(partition(ctx, b)).To(BeEquivalentTo(2))
		change(ctx, a, label)
		Expect(second.Reconcile(ctx, request(a))).Error().To(MatchError(ContainSubstring("not received the latest version")))
		Expect(second.Reconcile(ctx, request(a))).Error().NotTo(HaveOccurred())
		Expect(partition(ctx, a)).To(BeEquivalentTo(3))
		Expect(message(ctx, a, "Progressing")).To(ContainSubstring("Waiting for the rollout of its twin twin to end"))
	})

	It("keeps what others replace by hand waiting for a node of the twin that is being filled", func(ctx SpecContext) {
		a, _ := twins(ctx)
		o.nodes.fills = map[string]*protocol.Fill{"twin-2": {State: protocol.FillWaiting}}
		change(ctx, live(ctx, a, &appsv1.StatefulSet{}), func(set *appsv1.StatefulSet) {
			set.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-11-25T00:00:00Z"
		})
		seen(ctx, a)
		reconcile(ctx, a)
		Expect(partition(ctx, a)).To(BeEquivalentTo(3))
		Expect(message(ctx, a, "Progressing")).To(ContainSubstring("Waiting until the node twin-2 of its twin has all items"))
		o.nodes.fills = nil
		reconcile(ctx, a)
		Expect(partition(ctx, a)).To(BeEquivalentTo(2))
	})

	It("says which node serves without the items of its twin", func(ctx SpecContext) {
		o.nodes.fills = map[string]*protocol.Fill{}
		a := newMemcached(ctx, 3, fillFrom("twin"))
		newMemcached(ctx, 3, fillFrom("cache"), func(mc *cachev1alpha1.Memcached) { mc.Namespace, mc.Name = a.Namespace, "twin" })
		reconcile(ctx, a)
		rollOut(ctx, a)
		o.nodes.follow(ctx, a, 0, 1, 2)
		o.nodes.fills["cache-1"] = &protocol.Fill{State: protocol.FillFailed, From: "twin-1", Reason: "connection refused"}
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("NodesUnfilled: the node cache-1 serves without the items of its twin"))
		Expect(summary(ctx, a, "Available")).To(HavePrefix(string(metav1.ConditionTrue)))
		o.nodes.look()
		delete(o.nodes.fills, "cache-1")
		reconcile(ctx, a)
		Expect(o.nodes.look()).To(ConsistOf("cache-1"), "the others are known to be filled")
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("AsExpected"))
	})

	It("may reach its twin in spite of the NetworkPolicy of that", func(ctx SpecContext) {
		a := newMemcached(ctx, 1, fillFrom("twin"))
		b := newMemcached(ctx, 1, stable, func(mc *cachev1alpha1.Memcached) {
			mc.Namespace, mc.Name = a.Namespace, "twin"
			mc.Spec.Config.Dump = ptr.To(true)
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{
				PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}},
			}}}
		})
		reconcile(ctx, b)
		Expect(live(ctx, b, &networkingv1.NetworkPolicy{}).Spec.Ingress).To(ContainElement(HaveField("From", ContainElement(HaveField("PodSelector.MatchLabels",
			HaveKeyWithValue("app.kubernetes.io/instance", "cache"))))))
	})
})
