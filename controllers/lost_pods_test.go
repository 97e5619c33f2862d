// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// In these tests, no kubelet runs. So an evicted pod stays terminating forever, as on a lost cluster node.
var _ = Describe("A pod of a StatefulSet on a lost cluster node", func() {
	var o *operator
	var mc *cachev1alpha1.Memcached
	var pod *corev1.Pod

	// create creates the pod cache-1 on the cluster node host-b.
	create := func(ctx context.Context) *corev1.Pod {
		GinkgoHelper()
		created := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: mc.Namespace, Name: "cache-1", Labels: memcached.SelectorLabels(mc),
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "StatefulSet", Name: mc.Name, UID: "statefulset", Controller: ptr.To(true),
				}},
			},
			Spec: corev1.PodSpec{NodeName: "host-b", Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
		}
		Expect(user.Create(ctx, created)).To(Succeed())
		podNames[mc.Namespace] = []string{created.Name}
		return created
	}
	// evict evicts the pod as the taint manager does, and sets the clock to the end of its grace period.
	evict := func(ctx context.Context) {
		GinkgoHelper()
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		Expect(user.Delete(ctx, pod)).To(Succeed())
		Expect(user.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		o.clock.SetTime(pod.DeletionTimestamp.Time)
	}
	// settle reconciles until the operator writes nothing more, and sets the clock to the end of the pod's grace period again.
	settle := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, func() []string {
			o.wait(time.Millisecond)
			o.requests.Reset()
			_, err := o.Reconcile(ctx, request(mc))
			Expect(err).NotTo(HaveOccurred())
			return o.requests.Writes()
		}).Should(BeEmpty())
		o.events()
		o.clock.SetTime(pod.DeletionTimestamp.Time)
	}
	exists := func(ctx context.Context) bool {
		GinkgoHelper()
		err := user.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return err == nil
	}
	deleted := func() float64 {
		GinkgoHelper()
		const series = "memcached_operator_lost_pods_deleted_total"
		families, err := o.registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			if family.GetName() == series {
				return family.GetMetric()[0].GetCounter().GetValue()
			}
		}
		Fail("there is no series " + series)
		return 0
	}
	const report = "Warning LostPodDeleted Pod cache-1 did not stop after its eviction from cluster node host-b: " +
		"deleted it without waiting, so that a new cache-1 can start"

	BeforeEach(func(ctx SpecContext) {
		o = newOperator(defaults)
		mc = newMemcached(ctx, 3, func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet })
		Expect(o.try(ctx, mc, writeService, writeBudget, writeConfigMap, writeArguments, writeStatefulSet, writeStatus)).To(Succeed())
		pod = create(ctx)
	})
	AfterEach(func(ctx SpecContext) { // nothing else deletes the pod
		Expect(client.IgnoreNotFound(user.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
	})

	It("is deleted for good ten seconds after its grace period", func(ctx SpecContext) {
		evict(ctx)
		settle(ctx)
		for _, wait := range []time.Duration{10 * time.Second, 1} {
			o.step(ctx, mc)
			Expect(o.result.RequeueAfter).To(Equal(wait), "no event comes")
			o.wait(wait - 1)
		}
		o.wait(1)
		o.step(ctx, mc, deletePod)
		Expect(exists(ctx)).To(BeFalse())
		Expect(o.events()).To(ConsistOf(report))
		Expect(deleted()).To(Equal(1.0))
		o.step(ctx, mc)
		Expect(o.events()).To(BeEmpty())
	})

	It("is not lost because the clock of the operator is ahead of the API server's", func(ctx SpecContext) {
		evict(ctx)
		settle(ctx)
		o.ServerClock = clocktesting.NewFakePassiveClock(o.clock.Now())
		o.wait(time.Hour)
		o.step(ctx, mc)
		Expect(exists(ctx)).To(BeTrue())
		Expect(o.result.RequeueAfter).To(Equal(10 * time.Second))
	})

	It("is deleted once, and another pod of its name is not, whatever the cache says", func(ctx SpecContext) {
		evict(ctx)
		settle(ctx)
		o.outdatedPods = []corev1.Pod{*pod}
		o.wait(10 * time.Second)
		o.step(ctx, mc, deletePod)
		o.step(ctx, mc, deletePod+" (404)")

		pod = create(ctx)
		o.step(ctx, mc, deletePod+" (409)")
		Expect(o.result.RequeueAfter).To(Equal(30 * time.Second))
		Expect(user.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.DeletionTimestamp).To(BeNil())
		Expect(o.events()).To(ConsistOf(report))
		Expect(deleted()).To(Equal(1.0))
	})

	It("stays while its kubelet, which is back, reports", func(ctx SpecContext) {
		evict(ctx)
		settle(ctx)
		o.outdatedPods = []corev1.Pod{*pod}
		o.wait(10 * time.Second)
		pod.Status.Message = "stopping"
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		o.step(ctx, mc, deletePod+" (409)")
		Expect(o.result.RequeueAfter).To(Equal(30*time.Second), "the cache does not keep all of the pod, so there may be no event")
		Expect(exists(ctx)).To(BeTrue())
		Expect(o.events()).To(BeEmpty())

		o.outdatedPods = nil
		o.step(ctx, mc, deletePod)
		Expect(exists(ctx)).To(BeFalse())
	})

	It("is reported if its deletion is refused, and deleted when that ends", func(ctx SpecContext) {
		evict(ctx)
		settle(ctx)
		o.wait(10 * time.Second)
		o.refuse = func(status bool) error {
			if status {
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "cache-1", errors.New("no"))
		}
		Expect(o.try(ctx, mc, writeStatus)).To(MatchError(ContainSubstring("forbidden")), "it is tried again")
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/AdmissionDenied"))
		Expect(message(ctx, mc, "Degraded")).To(Equal("delete the pod cache-1 of the lost cluster node host-b: pods is forbidden: no. See docs/operations/runbook.md#admissiondenied"))
		Expect(deleted()).To(BeZero())
		o.events()

		o.refuse = nil
		Expect(o.try(ctx, mc, deletePod, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
		Expect(o.events()).To(ContainElement(report))
	})

	It("is deleted by another process only after a look at the Memcached that the API server has", func(ctx SpecContext) {
		evict(ctx)
		settle(ctx)
		cached := live(ctx, mc, &cachev1alpha1.Memcached{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = true })
		now := pod.DeletionTimestamp.Add(10 * time.Second)

		o = newOperator(defaults)
		o.clock.SetTime(now)
		o.outdated = cached
		Expect(o.try(ctx, mc)).To(MatchError(ContainSubstring("latest version of the Memcached")))

		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = false })
		o = newOperator(defaults)
		o.clock.SetTime(now)
		_, err := o.Reconcile(ctx, request(mc))
		Expect(err).NotTo(HaveOccurred())
		Expect(o.requests.Lists()).To(Equal([]string{"list memcacheds"}))
		Expect(o.requests.Writes()).To(ContainElement(deletePod))
	})
})
