// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/testenv/suite"
)

var _ = Describe("The clients of a MemcachedProxy", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("get TLS, and those who measure it an agent, with one write to each object", func(ctx SpecContext) {
		front, _ := converged(ctx, o)
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) {
			p.Spec.Monitoring.Enabled = true
			p.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "front-tls"}
			p.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{MetricsFrom: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}}
		})
		o.step(ctx, front, writeService, writePolicy, writeDeployment, writeStatus)
		o.step(ctx, front)
		rollOut(ctx, front)
		o.step(ctx, front, writeStatus)
		o.step(ctx, front)
		Expect(live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status.Address).To(Equal("front." + front.Namespace + ".svc:11212"))
		Expect(live(ctx, front, &corev1.Service{}, "").Spec.Ports).To(ConsistOf(HaveField("Port", BeEquivalentTo(11212))))
		Expect(live(ctx, front, &appsv1.Deployment{}, "").Spec.Template.Spec.InitContainers[1].Name).To(Equal("memcached-agent"))
		newOperator(defaults).step(ctx, front)
	})

	// A user who may only create MemcachedProxies must not reach a cache whose NetworkPolicy admits only some clients.
	It("reach a cache that lists its clients once the lines of the condition are among them", func(ctx SpecContext) {
		namespace := suite.NewNamespace(ctx, user)
		pool := newPool(ctx, namespace, 3)
		change(ctx, pool, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{
				PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}},
			}}}
		})
		front := newProxy(ctx, namespace)
		o.step(ctx, front, writeService, writeBudget, writeConfigMap, writeDeployment, writeStatus)
		degraded := meta.FindStatusCondition(live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status.Conditions, cachev1alpha1.ConditionDegraded)
		Expect(degraded).To(HaveField("Reason", cachev1alpha1.ReasonPoolUnsupported))
		_, lines, found := strings.Cut(degraded.Message, ": add ")
		Expect(found).To(BeTrue(), degraded.Message)

		var peer networkingv1.NetworkPolicyPeer
		Expect(yaml.UnmarshalStrict([]byte(lines), &peer)).To(Succeed())
		change(ctx, pool, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy.From = append(mc.Spec.NetworkPolicy.From, peer)
		})
		o.step(ctx, front, writeStatus)
		Expect(live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status.Conditions).To(ContainElement(And(
			HaveField("Type", cachev1alpha1.ConditionDegraded), HaveField("Reason", cachev1alpha1.ReasonAsExpected))))
	})
})
