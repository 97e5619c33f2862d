// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("What prevents the desired state", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	// foreignService creates a Service with the name of a Memcached's Service. So the operator cannot create its own.
	foreignService := func(ctx context.Context, mc *cachev1alpha1.Memcached, labels map[string]string) *corev1.Service {
		GinkgoHelper()
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name + "-nodes", Labels: labels},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		Expect(user.Create(ctx, service)).To(Succeed())
		return live(ctx, mc, &corev1.Service{})
	}

	It("may be an object of somebody else, which is never touched, and recovers when that goes away", func(ctx SpecContext) {
		mc := newMemcached(ctx, 3)
		theirs := foreignService(ctx, mc, nil)

		By("finding it by the refusal of the API server, as the cache does not hold it")
		o.beginsAnew(ctx, mc, writeService+" (409)", writeBudget, writeDeployment)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
		Expect(message(ctx, mc, "Degraded")).To(Equal(
			"Service cache-nodes exists already and belongs to nobody: delete or rename one of the two"))
		Expect(summary(ctx, mc, "Ready")).To(Equal("False/Conflict"))
		Expect(o.events()).To(ContainElement(HavePrefix("Warning Conflict Service cache-nodes exists already")))

		By("changing nothing and repeating nothing, but asking whether it is still there")
		const interval = 10 * time.Second
		rollOut(ctx, mc)
		o.wait(interval)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		expectConditions(ctx, mc, "False/Conflict", "False/NotReady", "False/Stuck", "True/Conflict")
		Expect(o.try(ctx, mc)).To(Succeed())
		Expect(o.result.RequeueAfter).To(Equal(interval))
		Expect(o.requests.Gets()).To(Equal([]string{"get services"}))
		Expect(live(ctx, mc, &corev1.Service{})).To(Equal(theirs))
		o.events()

		By("recovering by itself within a minute")
		Expect(user.Delete(ctx, theirs)).To(Succeed())
		o.wait(interval)
		Expect(o.try(ctx, mc, writeService, writeStatus)).To(Succeed())
		Expect(o.requests.Gets()).To(Equal([]string{"get services (404)"}))
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(o.events()).To(ConsistOf("Normal Recovered Nothing prevents the desired state", "Normal Ready 3 of 3 nodes are ready"))
	})

	It("may be somebody else's object that bears our labels", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}), func(b *policyv1.PodDisruptionBudget) {
			b.OwnerReferences[0].UID, b.OwnerReferences[0].Name, b.Spec.MaxUnavailable = "another", "another", nil
		})
		theirs := live(ctx, mc, &policyv1.PodDisruptionBudget{})
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))

		By("not deleting it when it is not wanted")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		o.step(ctx, mc, writeStatus)
		Expect(live(ctx, mc, &policyv1.PodDisruptionBudget{})).To(Equal(theirs))
	})

	It("may be the child of an earlier Memcached of the same name, which is waited for", func(ctx SpecContext) {
		earlier := converged(ctx, o, 1)
		Expect(user.Delete(ctx, earlier)).To(Succeed())
		mc := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: earlier.Namespace, Name: earlier.Name},
			Spec:       cachev1alpha1.MemcachedSpec{Size: 2},
		}
		Expect(user.Create(ctx, mc)).To(Succeed())
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/WaitingForDeletion", "False/NotReady", "True/WaitingForDeletion", "False/AsExpected")
		for _, child := range []client.Object{&corev1.Service{}, &policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}} {
			Expect(user.Delete(ctx, live(ctx, mc, child))).To(Succeed())
		}
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
	})

	It("may be a child that is being deleted, which is waited for", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		service := live(ctx, mc, &corev1.Service{})
		change(ctx, service, func(s *corev1.Service) { controllerutil.AddFinalizer(s, "test.example.com/hold") })
		Expect(user.Delete(ctx, service)).To(Succeed())
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/WaitingForDeletion", "True/AsExpected", "True/WaitingForDeletion", "False/AsExpected")
		change(ctx, service, func(s *corev1.Service) { s.Finalizers = nil })
		Expect(o.try(ctx, mc, writeService, writeStatus)).To(Succeed())
	})

	It("may be a quota, whose words are told, and recovers when there is room", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1)
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "no-services"}}
		quota.Spec.Hard = corev1.ResourceList{"count/services": resource.MustParse("0")}
		Expect(user.Create(ctx, quota)).To(Succeed())
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
		Expect(user.Status().Update(ctx, quota)).To(Succeed())
		// The API server may learn of the quota late. So the test waits until the API server refuses a probe.
		Eventually(ctx, func() error { return user.Create(ctx, probe(mc), client.DryRunAll) }).
			Should(MatchError(ContainSubstring("exceeded quota")))

		Expect(o.try(ctx, mc, writeService+" (403)", writeBudget, writeDeployment, writeStatus)).To(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/QuotaExceeded"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring("exceeded quota: no-services"))
		Expect(user.Delete(ctx, quota)).To(Succeed())
		Eventually(ctx, func() error { return user.Create(ctx, probe(mc), client.DryRunAll) }).Should(Succeed())
		o.step(ctx, mc, writeService, writeStatus)
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})

	It("may be a spec that the API server refuses in a child, which is told", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Scheduling.NodeSelector = map[string]string{"exceeded quota": "x"} // an invalid label; no quota is exceeded
		})
		err := o.try(ctx, mc, writeService, writeBudget, writeDeployment+" (422)", writeStatus)
		Expect(err).To(HaveOccurred())
		Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeFalse(), "the cluster may accept it later")
		expectConditions(ctx, mc, "False/InvalidSpec", "False/NotReady", "False/Stuck", "True/InvalidSpec")
		Expect(message(ctx, mc, "Degraded")).To(HavePrefix(
			`apply Deployment cache: Deployment.apps "cache" is invalid: spec.scheduling.nodeSelector: Invalid value`))

		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Scheduling.NodeSelector = nil })
		o.step(ctx, mc, writeDeployment, writeStatus)
	})

	It("may be a memory limit below the model, which stops nothing that runs", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		before := live(ctx, mc, &appsv1.Deployment{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.Memory = ptr.To(resource.MustParse("73Mi"))
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: tooLittle}
		})
		err := o.try(ctx, mc, writeStatus)
		Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeTrue(), "%v", err)
		expectConditions(ctx, mc, "False/InvalidSpec", "True/AsExpected", "False/Stuck", "True/InvalidSpec")
		Expect(message(ctx, mc, "Degraded")).To(And(ContainSubstring("175Mi"), ContainSubstring("at least 181Mi")))
		Expect(live(ctx, mc, &appsv1.Deployment{})).To(Equal(before))

		By("showing in the metrics what the spec says, and that it is stuck")
		for series, value := range map[string]float64{"item_memory_bytes": 73 << 20, "max_connections": 1024, "stuck": 1} {
			Expect(o.gauge("memcached_operator_memcached_"+series, mc)).To(Equal(value), series)
		}
	})

	It("is told also if the first attempt to tell it fails", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.Memory = ptr.To(resource.MustParse("73Mi"))
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: tooLittle}
		})
		o.refuse = func(bool) error { return apierrors.NewServiceUnavailable("starting") }
		err := o.try(ctx, mc)
		Expect(err).To(HaveOccurred())
		Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeFalse(), "a terminal error is not tried again")
		o.refuse = nil
		Expect(o.try(ctx, mc, writeStatus)).To(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/InvalidSpec"))
	})

	It("may be the deletion of the namespace, which is not fought", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		Expect(user.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mc.Namespace}})).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		Expect(o.try(ctx, mc, writeService+" (403)", writeStatus)).To(Succeed())
		expectConditions(ctx, mc, "False/WaitingForDeletion", "False/NotReady", "True/WaitingForDeletion", "False/AsExpected")
	})

	DescribeTable("is not a failure of the API server to answer, which is tried again and changes no condition unless it lasts",
		func(ctx SpecContext, failure error) {
			mc := converged(ctx, o, 1)
			before := status(ctx, mc)
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
			refuse := func(status bool) error {
				if status {
					return nil
				}
				return failure
			}
			o.refuse = refuse
			for range 2 {
				Expect(o.try(ctx, mc)).To(MatchError(failure))
				Expect(status(ctx, mc)).To(Equal(before))
				Expect(o.events()).To(BeEmpty())
				o.wait(time.Minute - 1)
			}
			o.wait(1)
			Expect(o.try(ctx, mc, writeStatus)).To(MatchError(failure))
			Expect(summary(ctx, mc, "Degraded")).To(Equal("True/ApplyFailed"))
			Expect(message(ctx, mc, "Degraded")).To(ContainSubstring(failure.Error()))
			o.refuse = nil
			o.step(ctx, mc, writeDeployment, writeStatus)
			Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))

			By("being as patient the next time")
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 3 })
			o.refuse = refuse
			Expect(o.try(ctx, mc)).To(MatchError(failure))
			Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
			o.refuse = nil
		},
		Entry("429", apierrors.NewTooManyRequests("slow down", 1)),
		Entry("500", apierrors.NewInternalError(errors.New("etcdserver: request timed out"))),
		Entry("503", apierrors.NewServiceUnavailable("starting")),
		Entry("504", apierrors.NewTimeoutError("timed out", 1)),
		Entry("a broken connection", http.ErrServerClosed),
	)
})

// gauge returns the value of a series of a Memcached.
func (o *operator) gauge(name string, mc *cachev1alpha1.Memcached) float64 {
	GinkgoHelper()
	families, err := o.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && labels["namespace"] == mc.Namespace && labels["name"] == mc.Name {
				return metric.GetGauge().GetValue()
			}
		}
	}
	Fail("there is no series " + name)
	return 0
}

var _ = Describe("A StatefulSet whose pods the API server refuses", func() {
	It("says so within five seconds, in the API server's words, and names the field that helps", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := settled(ctx, o, stable)
		set := live(ctx, mc, &appsv1.StatefulSet{})
		o.events()
		o.wait(time.Minute) // the StatefulSet has the API server's time, which has gone on
		Expect(user.Delete(ctx, podOf(ctx, mc, "cache-2"), client.GracePeriodSeconds(0))).To(Succeed())
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("False/NotReady"))
		Expect(o.result.RequeueAfter).To(Equal(4*time.Second), "no watch tells what the controller of the StatefulSet says")

		const words = "is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2"
		Expect(user.Create(ctx, &corev1.Event{ // as the controller of StatefulSets records it
			ObjectMeta:     metav1.ObjectMeta{Namespace: mc.Namespace, Name: "cache.1"},
			InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: mc.Namespace, Name: "cache", UID: set.UID},
			Reason:         "FailedCreate", Type: corev1.EventTypeWarning, Source: corev1.EventSource{Component: "statefulset-controller"},
			Message:        `create Pod cache-2 in StatefulSet cache failed error: pods "cache-2" ` + words,
			FirstTimestamp: metav1.NewTime(o.clock.Now()), LastTimestamp: metav1.NewTime(o.clock.Now()), Count: 1,
		})).To(Succeed())
		o.wait(5 * time.Second)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("False/QuotaExceeded"))
		Expect(message(ctx, mc, "Degraded")).To(HavePrefix("pods " + words + ". Lower spec.size, or raise the quota. See "))
		Expect(o.result.RequeueAfter).To(Equal(55*time.Second), "after a minute without a pod, its template may be written")

		By("having its pod after all")
		setReady(ctx, createNode(ctx, set, 2), corev1.ConditionTrue)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(o.events()).To(ConsistOf(HavePrefix("Warning QuotaExceeded"), HavePrefix("Normal Recovered"), HavePrefix("Normal Ready")))
	})
})

var _ = It("A StatefulSet whose pod has lost a label says how to take it back, because no other can have its name", func(ctx SpecContext) {
	o := newOperator(defaults)
	mc := settled(ctx, o, stable)
	o.wait(time.Minute)
	change(ctx, podOf(ctx, mc, "cache-2"), func(pod *corev1.Pod) { // the controller of StatefulSets releases such a pod
		delete(pod.Labels, "app.kubernetes.io/instance")
		pod.OwnerReferences = nil
	})
	o.step(ctx, mc, writeStatus)
	o.wait(o.result.RequeueAfter)
	o.step(ctx, mc, writeStatus)
	Expect(summary(ctx, mc, "Ready")).To(Equal("False/Conflict"))
	Expect(message(ctx, mc, "Degraded")).To(And(HavePrefix("Pod cache-2 has the name of a node, and does not belong to StatefulSet cache"),
		ContainSubstring("kubectl label pod cache-2 -n "+mc.Namespace+" --overwrite "), ContainSubstring(" app.kubernetes.io/instance=cache ")))
	Expect(o.events()).To(ContainElement(HavePrefix("Warning Conflict Pod cache-2")))
})

// probe returns a Service that only a quota, a policy or a webhook can refuse.
func probe(mc *cachev1alpha1.Memcached) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, GenerateName: "probe-"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
}
