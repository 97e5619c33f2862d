// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// In these tests, no kubelet runs. So an evicted pod with a cluster node stays terminating forever, as on a lost one.
var _ = Describe("A pod of a StatefulSet on a lost cluster node", func() {
	const report = "Warning LostPodDeleted Pod cache-1 did not stop after its eviction from cluster node host-b: " +
		"deleted it without waiting, so that a new cache-1 can start"
	var o *operator
	var mc *cachev1alpha1.Memcached
	var pod *corev1.Pod

	deleted := func() float64 {
		GinkgoHelper()
		families, err := o.registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "memcached_operator_lost_pods_deleted_total" })
		return families[i].GetMetric()[0].GetCounter().GetValue()
	}
	// evict evicts the pod as the taint manager does, reconciles, and sets the clock to the end of its grace period.
	evict := func(ctx context.Context) {
		GinkgoHelper()
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		})
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		Expect(user.Delete(ctx, pod)).To(Succeed())
		o.clock.SetTime(podOf(ctx, mc, "cache-1").DeletionTimestamp.Time)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		o.events()
	}

	BeforeEach(func(ctx SpecContext) {
		o = newOperator(defaults)
		mc = settled(ctx, o, stable)
		Expect(user.Delete(ctx, podOf(ctx, mc, "cache-1"))).To(Succeed())
		pod = createNode(ctx, live(ctx, mc, &appsv1.StatefulSet{}), 1)
		Expect(user.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "host-b"},
		})).To(Succeed())
		Expect(user.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		setReady(ctx, pod, corev1.ConditionTrue)
		DeferCleanup(func(ctx SpecContext) { // nothing else deletes the pod
			Expect(client.IgnoreNotFound(user.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
		})
	})

	It("is deleted for good ten seconds after its grace period, also beyond the size", func(ctx SpecContext) {
		evict(ctx)
		o.step(ctx, mc)
		Expect(o.result.RequeueAfter).To(Equal(10*time.Second), "no event comes")
		o.wait(10*time.Second - 1)
		o.step(ctx, mc)
		Expect(uidsOf(ctx, mc)).To(HaveKey("cache-1"))
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 1 })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		o.events()
		o.wait(1)
		Expect(o.try(ctx, mc, deletePod)).To(Succeed())
		Expect(uidsOf(ctx, mc)).NotTo(HaveKey("cache-1"))
		Expect(o.events()).To(ConsistOf(report))
		Expect(deleted()).To(Equal(1.0))
	})

	It("is not lost because the clock of the operator is ahead of the API server's", func(ctx SpecContext) {
		evict(ctx)
		o.ServerClock = clocktesting.NewFakePassiveClock(o.clock.Now())
		o.wait(time.Hour)
		o.step(ctx, mc)
		Expect(uidsOf(ctx, mc)).To(HaveKey("cache-1"))
		Expect(o.result.RequeueAfter).To(Equal(10 * time.Second))
	})

	It("is deleted once, also from an outdated cache, and its successor stays", func(ctx SpecContext) {
		evict(ctx)
		Expect(user.Delete(ctx, serversOf(ctx, mc))).To(Succeed())
		Expect(user.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "cache-servers"}})).To(Succeed())
		o.outdatedPods = pods(ctx, mc.Namespace, mc.Name)
		o.wait(10 * time.Second)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
		Expect(uidsOf(ctx, mc)).NotTo(HaveKey("cache-1"))
		pod = createNode(ctx, live(ctx, mc, &appsv1.StatefulSet{}), 1)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(podOf(ctx, mc, "cache-1").DeletionTimestamp).To(BeNil())
		Expect(deleted()).To(Equal(1.0))
	})

	It("is reported if its deletion is refused, and deleted when that ends", func(ctx SpecContext) {
		evict(ctx)
		o.wait(10 * time.Second)
		o.refuse = func(status bool) error {
			if status {
				return nil
			}
			return apierrors.NewForbidden(corev1.Resource("pods"), "cache-1", errors.New("no"))
		}
		Expect(o.try(ctx, mc, writeStatus)).To(MatchError(ContainSubstring("forbidden")), "it is tried again")
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/AdmissionDenied"))
		Expect(message(ctx, mc, "Degraded")).To(HavePrefix("delete pod cache-1: pods is forbidden: no"))
		Expect(deleted()).To(BeZero())
		o.refuse = nil
		Expect(o.try(ctx, mc, deletePod, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
		Expect(o.events()).To(ContainElement(report))
	})
})
