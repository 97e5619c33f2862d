// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

func fronted(mc *cachev1alpha1.Memcached) {
	stable(mc)
	mc.Spec.Proxy = &cachev1alpha1.MemcachedProxy{}
}

func proxyName(mc *cachev1alpha1.Memcached) types.NamespacedName {
	return types.NamespacedName{Namespace: mc.Namespace, Name: mc.Name + memcached.ProxySuffix}
}

func deploymentOf(ctx context.Context, mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	GinkgoHelper()
	return child(ctx, mc, &appsv1.Deployment{}, memcached.ProxySuffix)
}

// rollOutProxies does the work of the Deployment controller, the scheduler and the kubelet in one step.
func rollOutProxies(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	deployment := deploymentOf(ctx, mc)
	size, hash := *deployment.Spec.Replicas, revision(deployment)
	for _, pod := range proxies(ctx, mc) {
		Expect(user.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
	}
	for i := range size {
		pod := createPod(ctx, mc, fmt.Sprintf("proxy-%s-%d", hash, i), corev1.ConditionTrue, appsv1.DefaultDeploymentUniqueLabelKey, hash,
			metav1.OwnerReference{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment.Name + "-" + hash, UID: "replicaset", Controller: ptr.To(true),
			})
		change(ctx, pod, func(pod *corev1.Pod) { pod.Labels[memcached.NameLabel] = memcached.ProxyName })
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}},
	}
	Expect(user.Status().Update(ctx, deployment)).To(Succeed())
}

func proxies(ctx context.Context, mc *cachev1alpha1.Memcached) (found []corev1.Pod) {
	GinkgoHelper()
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		if pod.Labels[memcached.NameLabel] == memcached.ProxyName {
			found = append(found, pod)
		}
	}
	return found
}

func routesOf(ctx context.Context, mc *cachev1alpha1.Memcached) string {
	GinkgoHelper()
	return child(ctx, mc, &corev1.ConfigMap{}, memcached.RoutesSuffix).Data[protocol.RoutesKey]
}

func expectReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
}

// settledFront returns a Memcached with three nodes of each copy and its proxies, which is Ready.
func settledFront(ctx context.Context, o *operator, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := newMemcached(ctx, 3, changes...)
	for range 2 {
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		rollOutSet(ctx, mc)
	}
	Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
	rollOutProxies(ctx, mc)
	Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
	expectReady(ctx, mc)
	o.step(ctx, mc)
	o.events()
	return mc
}

var _ = Describe("The proxies of a Memcached", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	const allReady = "3 of 3 nodes and 2 of 2 proxies are ready"
	ready := func(ctx context.Context, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
		GinkgoHelper()
		return settledFront(ctx, o, append([]func(*cachev1alpha1.Memcached){fronted}, changes...)...)
	}
	scaled := func(ctx context.Context, mc *cachev1alpha1.Memcached, size int32) {
		GinkgoHelper()
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
	}

	It("come when the nodes are known, with one write to each object, and then there are none", func(ctx SpecContext) {
		mc := newMemcached(ctx, 3, fronted)
		o.step(ctx, mc, writeService, writeBudget, writeConfigMap, writeStatefulSet, writeService, writeBudget, writeStatus)
		Expect(status(ctx, mc)).To(And(HaveField("Address", Equal("cache."+mc.Namespace+".svc:11211")), HaveField("Proxies", BeNil())))
		o.step(ctx, mc)
		rollOutSet(ctx, mc)
		o.step(ctx, mc, writeConfigMap, writeDeployment, writeStatus)
		Expect(routesOf(ctx, mc)).To(Equal("cache-%d.cache-nodes." + mc.Namespace + ".svc 3\n"))
		expectConditions(ctx, mc, "False/Creating", "False/NotReady", "True/Creating", "False/AsExpected")
		rollOutProxies(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectReady(ctx, mc)
		Expect(o.events()).NotTo(ContainElement(HavePrefix("Warning")), "nothing is wrong in a first start")
		Expect(message(ctx, mc, "Ready")).To(Equal(allReady))
		Expect(status(ctx, mc).Proxies).To(HaveValue(Equal(cachev1alpha1.MemcachedProxiesStatus{Size: 2, Ready: 2, Nodes: 3})))
		Expect(status(ctx, mc).Nodes).To(HaveLen(3))
		o.step(ctx, mc)
		Expect(o.result.RequeueAfter).To(Equal(20 * time.Second))
		newOperator(defaults).step(ctx, mc)
	})

	It("hear of no number that the cache has read from an old Memcached", func(ctx SpecContext) {
		mc := ready(ctx)
		before := live(ctx, mc, &cachev1alpha1.Memcached{})
		scaled(ctx, mc, 2)
		o.outdated = live(ctx, mc, &cachev1alpha1.Memcached{})
		scaled(ctx, mc, 3)
		Expect(o.try(ctx, mc)).To(Succeed())
		Expect(o.result.RequeueAfter).To(Equal(time.Second), "an announcement cannot be taken back")
		o.outdated = nil
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed(), "of the generation")
		Expect(before.Status.Servers).To(Equal(status(ctx, mc).Servers))
	})

	It("say which of them misses which node, although no event follows", func(ctx SpecContext) {
		mc := ready(ctx)
		cut := proxies(ctx, mc)[1].Name
		o.nodes.missed = map[string]string{cut: "1 of 3 nodes: cache-1 (no answer from 10.0.0.7:11211)"}
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/NotReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(message(ctx, mc, "Ready")).To(Equal(allReady + "; " + cut + " misses " + o.nodes.missed[cut]))
		o.nodes.missed = nil
		o.step(ctx, mc, writeStatus)
		expectReady(ctx, mc)
	})

	It("are set back when somebody changes their objects, and events tell who did", func(ctx SpecContext) {
		mc := ready(ctx)
		change(ctx, deploymentOf(ctx, mc), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "memcached:1.5" })
		change(ctx, child(ctx, mc, &corev1.Service{}, ""), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(o.events()).To(ContainElements(
			`Warning Corrected Deployment cache-proxy was changed by user (spec.template.spec.containers[name="memcached"].image): restored`,
			And(HavePrefix("Warning Corrected Service cache was changed by user"), HaveSuffix("spec.type): restored"))))
		Expect(child(ctx, mc, &corev1.Service{}, "").Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
	})

	It("come to a living cache, whose clients reach the nodes until one is ready, and go again", func(ctx SpecContext) {
		shop := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}}}
		limited := func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: shop}
		}
		mc := settled(ctx, o, stable, limited)
		nodes, template := status(ctx, mc).Nodes, live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template
		admitted := func(suffix string) []networkingv1.NetworkPolicyPeer {
			GinkgoHelper()
			return child(ctx, mc, &networkingv1.NetworkPolicy{}, suffix).Spec.Ingress[0].From
		}
		change(ctx, mc, fronted)
		Expect(o.try(ctx, mc, writePolicy, writeService, writeBudget, writePolicy, writeConfigMap, writeDeployment, writeStatus)).To(Succeed())
		Expect(admitted("")).To(HaveLen(2))
		Expect(summary(ctx, mc, "Available")).To(Equal("True/AsExpected"))
		rollOutProxies(ctx, mc)
		Expect(o.try(ctx, mc, writePolicy, writeStatus)).To(Succeed())
		Expect(admitted("")).To(ConsistOf(HaveField("PodSelector.MatchLabels", Equal(memcached.ProxyLabels("cache")))))
		Expect(admitted("-proxy")).To(Equal(shop))
		expectReady(ctx, mc)
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template).To(Equal(template))

		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Proxy = nil })
		Expect(o.try(ctx, mc, writePolicy, deleteService, deleteBudget, deletePolicy, "delete configmaps", deleteDeployment, writeStatus)).To(Succeed())
		Expect(admitted("")).To(Equal(shop))
		Expect(user.Get(ctx, client.ObjectKeyFromObject(mc), &corev1.Service{})).To(MatchError(apierrors.IsNotFound, "no Service NAME"))
		Expect(status(ctx, mc)).To(And(HaveField("Nodes", Equal(nodes)), HaveField("Address", BeEmpty()), HaveField("Proxies", BeNil())))
		o.step(ctx, mc)
	})

	It("do not start with the routes of somebody else, and the nodes do", func(ctx SpecContext) {
		mc := newMemcached(ctx, 3, fronted)
		Expect(user.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "cache-routes"},
			Data:       map[string]string{protocol.RoutesKey: "one-%d.one.elsewhere.svc 2\n"},
		})).To(Succeed())
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		rollOutSet(ctx, mc)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		expectConditions(ctx, mc, "False/Conflict", "False/NotReady", "False/Stuck", "True/Conflict")
		Expect(user.Get(ctx, proxyName(mc), &appsv1.Deployment{})).To(MatchError(apierrors.IsNotFound, "no proxies"))
	})
})
