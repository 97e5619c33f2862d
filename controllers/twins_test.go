// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"slices"
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
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
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
		reconcile(ctx, a, b, a, b)
		Expect(summary(ctx, a, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(summary(ctx, b, "Ready")).To(Equal("True/AllNodesReady"))
		o.nodes.look()
		return a, b
	}
	// nodes returns the names of the pods of a Memcached.
	nodes := func(ctx context.Context, mc *cachev1alpha1.Memcached) []string {
		GinkgoHelper()
		var names []string
		for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
			names = append(names, pod.Name)
		}
		slices.Sort(names)
		return names
	}
	// labelled asks for new pods, and lets the StatefulSet controller observe their template.
	labelled := func(ctx context.Context, all ...*cachev1alpha1.Memcached) {
		GinkgoHelper()
		for _, mc := range all {
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
				mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
			})
			reconcile(ctx, mc)
			observeSet(ctx, mc)
		}
	}
	data := func(ctx context.Context, mc *cachev1alpha1.Memcached) map[string]string {
		GinkgoHelper()
		config := &corev1.ConfigMap{}
		err := user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + memcached.ArgumentsSuffix}, config)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return config.Data
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

	It("tells the nodes from where, and publishes nodes that are not ready", func(ctx SpecContext) {
		a, b := twins(ctx)
		Expect(data(ctx, a)).To(HaveKeyWithValue(protocol.TwinKey, "twin "+a.Namespace+" 3\n"))
		Expect(data(ctx, b)).To(HaveKeyWithValue(protocol.TwinKey, "cache "+a.Namespace+" 3\n"))
		Expect(live(ctx, a, &corev1.Service{}).Spec.PublishNotReadyAddresses).To(BeTrue())
		o.step(ctx, a)
		o.step(ctx, b)
		Expect(o.nodes.look()).To(BeEmpty(), "nodes that are known to be filled")
	})

	It("is told without a twin, or with one that cannot fill nodes", func(ctx SpecContext) {
		a := newMemcached(ctx, 3, fillFrom("twin"))
		reconcile(ctx, a)
		rollOut(ctx, a)
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("InvalidReference: spec.fillFrom.name: there is no Memcached twin in the namespace"))
		Expect(data(ctx, a)).NotTo(HaveKey(protocol.TwinKey))

		b := newMemcached(ctx, 2, stable, func(mc *cachev1alpha1.Memcached) { mc.Namespace, mc.Name = a.Namespace, "twin" })
		o.wait(time.Minute) // the status reports progress only every five seconds
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("InvalidReference: spec.fillFrom.name: the Memcached twin must have spec.config.dump true"))
		change(ctx, b, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Dump = ptr.To(true) })
		reconcile(ctx, a)
		Expect(message(ctx, a, "Degraded")).To(HavePrefix("AsExpected"))
		Expect(data(ctx, a)).To(HaveKeyWithValue(protocol.TwinKey, "twin "+a.Namespace+" 2\n"))
	})

	It("never replaces a node while its twin does", func(ctx SpecContext) {
		a, b := twins(ctx)
		labelled(ctx, a, b)
		o.nodes.look()
		reconcile(ctx, b)
		Expect(nodes(ctx, b)).To(Equal([]string{"twin-0", "twin-1"}))
		Expect(o.nodes.look()).To(ContainElement("cache-2"), "it may lack items")
		o.wait(time.Minute) // the status reports progress only every five seconds
		reconcile(ctx, a)
		Expect(nodes(ctx, a)).To(HaveLen(3))
		Expect(message(ctx, a, "Progressing")).To(And(HavePrefix("RollingOut: "),
			ContainSubstring("waiting until all nodes of its twin twin are ready: 2 of 3 are")))
		observeSet(ctx, b)
		reconcile(ctx, a)
		Expect(nodes(ctx, a)).To(Equal([]string{"cache-0", "cache-1"}))
		reconcile(ctx, b)
		Expect(nodes(ctx, b)).To(HaveLen(3))
	})

	It("does not stop a node while another process replaces its twin, although the cache does not know that", func(ctx SpecContext) {
		a, b := twins(ctx)
		labelled(ctx, a, b)
		second := newOperator(defaults)
		second.nodes, second.Nodes = o.nodes, o.nodes
		second.outdatedPods = append(pods(ctx, a.Namespace, a.Name), pods(ctx, b.Namespace, b.Name)...)
		reconcile(ctx, b)
		Expect(nodes(ctx, b)).To(HaveLen(2))
		Expect(second.Reconcile(ctx, request(a))).Error().NotTo(HaveOccurred())
		Expect(nodes(ctx, a)).To(HaveLen(3))
		Expect(message(ctx, a, "Progressing")).To(ContainSubstring("waiting until all nodes of its twin twin are ready"))
	})

	It("keeps what others replace by hand waiting for a node of the twin that is being filled", func(ctx SpecContext) {
		a, _ := twins(ctx)
		o.nodes.fills = map[string]*protocol.Fill{"twin-2": {State: protocol.FillWaiting}}
		old := live(ctx, a, &appsv1.StatefulSet{}).Status.UpdateRevision
		change(ctx, live(ctx, a, &appsv1.StatefulSet{}), func(set *appsv1.StatefulSet) {
			set.Spec.Template.Annotations[memcached.KubectlRestartedAt] = "2026-11-25T00:00:00Z"
		})
		for range 4 { // the other nodes go
			reconcile(ctx, a)
			observeSet(ctx, a)
			o.wait(time.Minute)
		}
		revisions := func() (all []string) {
			for _, pod := range pods(ctx, a.Namespace, a.Name) {
				all = append(all, pod.Labels[appsv1.ControllerRevisionHashLabelKey])
			}
			return all
		}
		Expect(revisions()).To(And(HaveLen(3), ContainElement(old)))
		Expect(message(ctx, a, "Progressing")).To(ContainSubstring("waiting until the node twin-2 of its twin has all items"))
		o.nodes.fills = nil
		reconcile(ctx, a)
		Expect(revisions()).NotTo(ContainElement(old))
	})

	It("says which node serves without the items of its twin", func(ctx SpecContext) {
		o.nodes.fills = map[string]*protocol.Fill{}
		a := newMemcached(ctx, 3, fillFrom("twin"))
		newMemcached(ctx, 3, fillFrom("cache"), func(mc *cachev1alpha1.Memcached) { mc.Namespace, mc.Name = a.Namespace, "twin" })
		reconcile(ctx, a)
		rollOut(ctx, a)
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
