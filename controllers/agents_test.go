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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("The agents of nodes", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	secured := func(mc *cachev1alpha1.Memcached) {
		stable(mc)
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "cache-tls"}
	}
	// running returns a Memcached with three nodes whose agents report no problem. It drops the requests and events so far.
	running := func(ctx context.Context) *cachev1alpha1.Memcached {
		GinkgoHelper()
		mc := settled(ctx, o, secured)
		o.step(ctx, mc)
		o.nodes.problems = map[string][]protocol.Problem{"cache-0": nil, "cache-1": nil, "cache-2": nil}
		o.nodes.look()
		Expect(o.PollAgents(ctx)).To(BeEmpty())
		Expect(o.nodes.look()).To(BeEmpty(), "the requests spread over a minute")
		o.wait(time.Minute)
		Expect(o.PollAgents(ctx)).To(ConsistOf(client.ObjectKeyFromObject(mc)))
		o.step(ctx, mc)
		Expect(o.nodes.look()).To(HaveLen(3))
		o.events()
		return mc
	}
	misfit := []protocol.Problem{{Reason: "InvalidCertificate", Message: "tls.key does not fit: store another"}}
	const words = `Pod cache-1 says of the Secret cache-tls (spec.tls.secretName): "tls.key does not fit: store another"`

	It("are asked once a minute, and what they say is a condition and one event, while the cache is Ready", func(ctx SpecContext) {
		mc := running(ctx)
		o.nodes.problems["cache-1"] = misfit
		o.wait(59 * time.Second)
		Expect(o.PollAgents(ctx)).To(BeEmpty())
		Expect(o.nodes.look()).To(BeEmpty())

		o.wait(time.Second)
		Expect(o.PollAgents(ctx)).To(Equal([]types.NamespacedName{client.ObjectKeyFromObject(mc)}))
		host := "cache-nodes." + mc.Namespace + ".svc"
		Expect(o.nodes.look()).To(Equal([]string{
			"cache-0 " + host + " cache-0." + host, "cache-1 " + host + " cache-1." + host, "cache-2 " + host + " cache-2." + host,
		}))
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "NeedsAttention")).To(Equal("True/InvalidSecret"))
		Expect(message(ctx, mc, "NeedsAttention")).To(Equal(words))
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/InvalidSecret"))
		Expect(message(ctx, mc, "Ready")).To(Equal("3 of 3 nodes are ready. " + words))
		Expect(o.events()).To(Equal([]string{"Warning InvalidSecret " + words}))

		By("saying it again, which changes nothing")
		o.wait(time.Minute)
		Expect(o.PollAgents(ctx)).To(BeEmpty())
		o.step(ctx, mc)

		By("being repaired")
		o.nodes.problems["cache-1"] = nil
		o.wait(time.Minute)
		Expect(o.PollAgents(ctx)).To(HaveLen(1))
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(o.events()).To(Equal([]string{"Normal Recovered The agents of the nodes report no problem any more"}))
	})

	It("are asked at once when a node becomes ready, such as the first", func(ctx SpecContext) {
		mc := running(ctx)
		Expect(user.Delete(ctx, podOf(ctx, mc, "cache-2"), client.GracePeriodSeconds(0))).To(Succeed())
		pod := createNode(ctx, live(ctx, mc, &appsv1.StatefulSet{}), 2)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		setReady(ctx, pod, corev1.ConditionTrue)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		o.nodes.look()
		o.PollAgents(ctx)
		Expect(o.nodes.look()).To(ConsistOf(HavePrefix("cache-2 ")))
	})

	It("keep what they have said while they cannot be asked, and while an operator that has just started has not asked", func(ctx SpecContext) {
		mc := running(ctx)
		o.nodes.problems["cache-1"] = misfit
		o.wait(time.Minute)
		o.PollAgents(ctx)
		o.step(ctx, mc, writeStatus)
		delete(o.nodes.problems, "cache-1")
		o.wait(time.Minute)
		Expect(o.PollAgents(ctx)).To(BeEmpty())
		o.step(ctx, mc)
		Expect(message(ctx, mc, "NeedsAttention")).To(Equal(words))

		another := newOperator(defaults)
		another.nodes = o.nodes
		another.Nodes = o.nodes
		o = another
		o.step(ctx, mc)
		Expect(message(ctx, mc, "NeedsAttention")).To(Equal(words))
		By("learning nothing of the one that said so")
		o.PollAgents(ctx)
		o.wait(time.Minute)
		o.PollAgents(ctx)
		o.step(ctx, mc)
		Expect(message(ctx, mc, "NeedsAttention")).To(Equal(words))

		By("hearing of a node that is not ready, since its agent has started")
		pod := podOf(ctx, mc, "cache-2")
		setReady(ctx, pod, corev1.ConditionFalse)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: memcached.AgentContainerName, Started: ptr.To(true)}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		o.step(ctx, mc, writeStatus)
		o.nodes.problems["cache-2"] = []protocol.Problem{{Reason: "ConnectionLimit", Message: "raise it"}}
		o.wait(time.Minute)
		o.PollAgents(ctx)
		o.step(ctx, mc, writeStatus)
		Expect(message(ctx, mc, "NeedsAttention")).To(Equal(`Pod cache-2 says: "raise it"`))
	})

	It("are not asked without TLS and users, and not when the cache is gone", func(ctx SpecContext) {
		plain := settled(ctx, o, stable)
		o.nodes.look()
		for range 2 {
			Expect(o.PollAgents(ctx)).To(BeEmpty())
			o.wait(time.Minute)
		}
		Expect(o.nodes.look()).To(BeEmpty(), plain.Name)

		Expect(user.Delete(ctx, plain)).To(Succeed())
		mc := running(ctx)
		Expect(user.Delete(ctx, mc)).To(Succeed())
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		o.wait(time.Hour)
		Expect(o.PollAgents(ctx)).To(BeEmpty())
		Expect(o.nodes.look()).To(BeEmpty())
	})

	It("wake an operator that runs, unless it is not to ask", func(ctx SpecContext) {
		mc := running(ctx)
		o.nodes.problems = map[string][]protocol.Problem{"cache-0": misfit, "cache-1": misfit, "cache-2": misfit}
		silent := startWith(ctx, mc.Namespace, 0, controllers.Options{Memcached: defaults, Nodes: o.nodes})
		Consistently(ctx, o.nodes.look).WithTimeout(time.Second).Should(BeEmpty())
		silent.stop()
		startWith(ctx, mc.Namespace, 0, controllers.Options{Memcached: defaults, Nodes: o.nodes, AskAgents: true})
		within := time.Minute + 10*time.Second // the first of them is asked much earlier
		Eventually(ctx, func() string { return summary(ctx, mc, "NeedsAttention") }).WithTimeout(within).Should(Equal("True/InvalidSecret"))
	})
})
