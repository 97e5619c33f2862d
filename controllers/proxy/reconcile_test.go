// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv/suite"
)

// The tests count writes exactly, because a reconcile without a change must write nothing.
var _ = Describe("A MemcachedProxy", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("converges with one write to each child and two status writes, and then there are none", func(ctx SpecContext) {
		namespace := suite.NewNamespace(ctx, user)
		newPool(ctx, namespace, 3)
		front := newProxy(ctx, namespace)

		By("creating the children and saying so")
		o.step(ctx, front, writeService, writeBudget, writeConfigMap, writeDeployment, writeStatus)
		Expect(o.result.RequeueAfter).To(Equal(30*time.Second), "a creation that a watch misses must be noticed")
		expectConditions(ctx, front, "False/Creating", "Unknown/Creating", "True/Creating", "False/AsExpected")
		Expect(o.events()).To(BeEmpty())
		Expect(routes(ctx, front)).To(Equal("sessions-%d.sessions." + namespace + ".svc 3\n"))

		By("having nothing to do while nothing happens")
		o.step(ctx, front)
		Expect(o.result.RequeueAfter).To(BeZero())

		By("telling when the proxies are ready")
		rollOut(ctx, front)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(o.events()).To(ConsistOf("Normal Ready All 2 proxies are ready"))
		Expect(live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status).To(And(
			HaveField("Replicas", Equal(int32(2))), HaveField("ReadyReplicas", Equal(int32(2))), HaveField("UpdatedReplicas", Equal(int32(2))),
			HaveField("Image", Equal("memcached:1.6.45")), HaveField("Address", Equal("front."+namespace+".svc:11211")),
			HaveField("Routes.Nodes", Equal(int32(3))),
		))

		By("having nothing to do any more, also in another process")
		o.step(ctx, front)
		newOperator(defaults).step(ctx, front)
		Expect(o.events()).To(BeEmpty())
	})

	It("announces a new size of its pool once, two minutes ahead, and rolls no proxy", func(ctx SpecContext) {
		front, pool := converged(ctx, o)
		generation := live(ctx, front, &appsv1.Deployment{}, "").Generation
		pattern := "sessions-%d.sessions." + front.Namespace + ".svc"
		announced := o.clock.Now().Add(2 * time.Minute).UTC().Format(time.RFC3339)

		before := o.proxies.asked
		resize(ctx, pool, 4)
		Expect(o.try(ctx, front, writeConfigMap, writeStatus)).To(Succeed())
		Expect(o.requests.Gets()).To(Equal([]string{"get configmaps"}), "what was announced before must be known")
		Expect(routes(ctx, front)).To(Equal(pattern + " 3 next 4 " + announced + "\n"))
		Expect(o.result.RequeueAfter).To(Equal(5*time.Second), "the proxies are asked whether they have it")
		Expect(o.proxies.asked).To(Equal(before), "nobody can have it yet")
		expectConditions(ctx, front, "False/RollingOut", "True/AsExpected", "True/RollingOut", "False/AsExpected")
		Expect(o.events()).To(ConsistOf(HavePrefix("Normal RollingOut From ")))

		By("saying how many proxies have read it")
		slow := pods(ctx, front)[1]
		o.proxies.former[slow] = pattern + " 3\n"
		o.step(ctx, front, writeStatus)
		Expect(message(ctx, front)).To(HaveSuffix("1 of 2 proxies have the new routes"))
		Expect(o.result.RequeueAfter).To(Equal(5 * time.Second))
		o.step(ctx, front)
		delete(o.proxies.former, slow)
		o.step(ctx, front, writeStatus)
		Expect(message(ctx, front)).To(HaveSuffix("2 of 2 proxies have the new routes"))
		Expect(o.result.RequeueAfter).To(Equal(20 * time.Second))

		By("keeping it while it does not hold, also in another process")
		o.wait(time.Minute)
		o.step(ctx, front)
		Expect(o.result.RequeueAfter).To(Equal(20 * time.Second))
		other := newOperator(defaults)
		other.clock.SetTime(o.clock.Now())
		other.step(ctx, front)

		By("keeping it although the size changes back")
		resize(ctx, pool, 3)
		o.step(ctx, front)
		resize(ctx, pool, 4)

		By("saying that it holds, once it is in effect in all proxies")
		o.proxies.former[slow] = pattern + " 3\n"
		o.wait(time.Minute)
		o.step(ctx, front, writeStatus)
		Expect(message(ctx, front)).To(Equal("1 of 2 proxies have the new routes, to 4 nodes"))
		Expect(o.result.RequeueAfter).To(Equal(5 * time.Second))
		delete(o.proxies.former, slow)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status.Routes).To(HaveValue(
			Equal(cachev1alpha1.MemcachedProxyRoutes{Nodes: 4})))
		asked := o.proxies.asked
		o.step(ctx, front)
		Expect(o.result.RequeueAfter).To(Equal(20*time.Second), "no event reports that a proxy cannot use a node")
		Expect(o.proxies.asked).To(Equal(asked + 2))
		Expect(live(ctx, front, &appsv1.Deployment{}, "").Generation).To(Equal(generation))
	})

	It("gets a copy of its pool, and waits until the sizes of both agree", func(ctx SpecContext) {
		front, pool := converged(ctx, o)
		first, twins := "sessions-%d.sessions."+front.Namespace+".svc", "twins-%d.twins."+front.Namespace+".svc"
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) {
			p.Spec.Pools = append(p.Spec.Pools, cachev1alpha1.MemcachedProxyPool{Name: "twins"})
		})
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/InvalidReference", "True/AsExpected", "False/Stuck", "True/InvalidReference")
		Expect(routes(ctx, front)).To(Equal(first + " 3\n"))

		copied := newPoolNamed(ctx, front.Namespace, "twins", 4)
		Expect(o.try(ctx, front, writeConfigMap, writeStatus)).To(Succeed())
		Expect(routes(ctx, front)).To(Equal(first + " 3\n" + twins + "\n"))
		Expect(message(ctx, front)).To(Equal("0 of 2 proxies have the new routes, to 3 nodes"))
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/Scaling", "True/AsExpected", "True/Scaling", "False/AsExpected")
		o.step(ctx, front)

		resize(ctx, pool, 4)
		Expect(o.try(ctx, front, writeConfigMap, writeStatus)).To(Succeed())
		Expect(routes(ctx, front)).To(HavePrefix(first + " 3 next 4 "))
		Expect(routes(ctx, front)).To(HaveSuffix("\n" + twins + "\n"))
		o.wait(2 * time.Minute)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")

		resize(ctx, copied, 0)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/Scaling", "True/AsExpected", "True/Scaling", "False/AsExpected")
	})

	It("says which proxy misses which node, although no event follows", func(ctx SpecContext) {
		front, _ := converged(ctx, o)
		cut := pods(ctx, front)[1]
		o.proxies.missed[cut] = "1 of 3 nodes: sessions-1.sessions.shop.svc (no answer from 10.0.0.7:11211)"
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/NotReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		status := live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status
		Expect(status.Conditions).To(ContainElement(HaveField("Message", "2 of 2 proxies are ready; "+cut+" misses "+o.proxies.missed[cut])))
		o.step(ctx, front)
		Expect(o.result.RequeueAfter).To(Equal(20 * time.Second))
		delete(o.proxies.missed, cut)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
	})

	It("does not announce again what its cache has not received", func(ctx SpecContext) {
		front, pool := converged(ctx, o)
		o.lagging = live(ctx, front, &corev1.ConfigMap{}, "-routes")
		change(ctx, live(ctx, front, &corev1.ConfigMap{}, "-routes"), func(c *corev1.ConfigMap) {
			c.Data["routes"] = "sessions-%d.sessions." + front.Namespace + ".svc 3 next 4 2099-01-01T00:00:00Z\n"
		})
		resize(ctx, pool, 5)
		o.step(ctx, front)
		Expect(o.result.RequeueAfter).To(Equal(time.Second), "it reads again first")
		o.lagging = nil
		Expect(o.try(ctx, front, writeConfigMap, writeStatus)).To(Succeed(), "the hash is that of what was applied before")
		Expect(routes(ctx, front)).To(ContainSubstring("3 next 4 2099"))
	})

	It("does not announce a former size of its pool", func(ctx SpecContext) {
		front, pool := converged(ctx, o)
		resize(ctx, pool, 4)
		o.lagging = pool.DeepCopy()
		resize(ctx, pool, 3)
		o.step(ctx, front)
		Expect(o.result.RequeueAfter).To(Equal(time.Second), "it reads again first, because an announcement cannot be taken back")
		o.lagging = nil
		o.step(ctx, front)
	})

	It("is scaled with one write", func(ctx SpecContext) {
		front, _ := converged(ctx, o)
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) { p.Spec.Size = ptr.To(int32(5)) })
		o.step(ctx, front, writeDeployment, writeStatus)
		expectConditions(ctx, front, "False/Scaling", "True/AsExpected", "True/Scaling", "False/AsExpected")
		rollOut(ctx, front)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
	})

	It("creates and deletes what the spec switches on and off", func(ctx SpecContext) {
		front, _ := converged(ctx, o)
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) {
			p.Spec.PodDisruptionBudget.Enabled, p.Spec.NetworkPolicy = ptr.To(false), &cachev1alpha1.MemcachedNetworkPolicy{}
		})
		o.step(ctx, front, deleteBudget, writePolicy, writeStatus)
		live(ctx, front, &networkingv1.NetworkPolicy{}, "")
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) {
			p.Spec.PodDisruptionBudget.Enabled, p.Spec.NetworkPolicy = nil, nil
		})
		o.step(ctx, front, writeBudget, deletePolicy, writeStatus)
		live(ctx, front, &policyv1.PodDisruptionBudget{}, "")
	})

	It("waits for its pool, and loses nothing when that goes", func(ctx SpecContext) {
		namespace := suite.NewNamespace(ctx, user)
		front := newProxy(ctx, namespace)
		o.step(ctx, front, writeService, writeBudget, writeStatus)
		expectConditions(ctx, front, "False/InvalidReference", "False/NotReady", "False/Stuck", "True/InvalidReference")
		Expect(o.events()).To(ContainElement(HavePrefix("Warning InvalidReference spec.pools names the Memcached sessions, which does not exist")))
		o.step(ctx, front)

		pool := newPool(ctx, namespace, 3)
		o.step(ctx, front, writeConfigMap, writeDeployment, writeStatus)
		rollOut(ctx, front)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")

		change(ctx, pool, func(mc *cachev1alpha1.Memcached) { mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "users"} })
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/InvalidReference", "True/AsExpected", "False/Stuck", "True/InvalidReference")
		Expect(user.Delete(ctx, pool)).To(Succeed())
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/InvalidReference", "True/AsExpected", "False/Stuck", "True/InvalidReference")
		Expect(routes(ctx, front)).To(HaveSuffix(" 3\n"))
	})

	It("yields to an older Memcached of its name", func(ctx SpecContext) {
		namespace := suite.NewNamespace(ctx, user)
		newPool(ctx, namespace, 3)
		other := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
		create(ctx, other)
		front := newProxy(ctx, namespace)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/Conflict", "False/NotReady", "False/Stuck", "True/Conflict")
		o.step(ctx, front)
		Expect(user.Delete(ctx, other)).To(Succeed())
		o.step(ctx, front, writeService, writeBudget, writeConfigMap, writeDeployment, writeStatus)
	})

	It("reports a proxy that has not answered its agent for ten seconds, although no event follows", func(ctx SpecContext) {
		front, _ := converged(ctx, o)
		pod := &corev1.Pod{}
		Expect(user.Get(ctx, client.ObjectKey{Namespace: front.Namespace, Name: pods(ctx, front)[0]}, pod)).To(Succeed())
		running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(o.clock.Now().Add(-time.Hour))}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: memcached.ContainerName, State: running}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: memcached.AgentContainerName, State: running}}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(o.clock.Now().Add(-3 * time.Second)),
		}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		o.step(ctx, front, writeStatus)
		Expect(o.result.RequeueAfter).To(BeNumerically("~", 7*time.Second, time.Second))
		o.wait(o.result.RequeueAfter)
		o.step(ctx, front, writeStatus)
		expectConditions(ctx, front, "False/NodesUnresponsive", "True/AsExpected", "False/AsExpected", "True/NodesUnresponsive")
	})

	It("is in conflict with an object of somebody else, and does what it can", func(ctx SpecContext) {
		namespace := suite.NewNamespace(ctx, user)
		newPool(ctx, namespace, 3)
		create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
		front := newProxy(ctx, namespace)
		Expect(o.try(ctx, front, "patch services (409)", writeBudget, writeConfigMap, writeDeployment, writeStatus)).To(Succeed())
		expectConditions(ctx, front, "False/Conflict", "False/NotReady", "False/Stuck", "True/Conflict")
		Expect(o.result.RequeueAfter).To(Equal(10 * time.Second))
	})

	It("starts no proxy with the routes of somebody else", func(ctx SpecContext) {
		namespace := suite.NewNamespace(ctx, user)
		newPool(ctx, namespace, 3)
		create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front-routes"},
			Data:       map[string]string{protocol.RoutesKey: "one-%d.one.elsewhere.svc 2\n"},
		})
		front := newProxy(ctx, namespace)
		Expect(o.try(ctx, front, writeService, writeBudget, "patch configmaps (409)", writeStatus)).To(Succeed())
		expectConditions(ctx, front, "False/Conflict", "False/NotReady", "False/Stuck", "True/Conflict")
	})

	It("forgets one that is gone, and writes nothing for one that is being deleted", func(ctx SpecContext) {
		front, _ := converged(ctx, o)
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) { p.Finalizers = []string{"example.com/wait"} })
		Expect(user.Delete(ctx, front)).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, front, &corev1.Service{}, ""))).To(Succeed())
		Expect(o.try(ctx, front, writeStatus)).To(Succeed())
		change(ctx, front, func(p *cachev1alpha1.MemcachedProxy) { p.Finalizers = nil })
		Expect(client.IgnoreNotFound(user.Get(ctx, client.ObjectKeyFromObject(front), front))).To(Succeed())
		o.step(ctx, front)
	})
})
