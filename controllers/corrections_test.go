// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("What somebody changes in the objects of a Memcached", func() {
	DescribeTable("is undone, and an event tells who changed what",
		func(ctx SpecContext, object client.Object, edit func(client.Object), event string) {
			o := newOperator(defaults)
			mc := converged(ctx, o, 3)
			o.events()
			change(ctx, live(ctx, mc, object), edit)
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(o.events()).To(ContainElement("Warning Corrected " + event))

			By("being silent about what stays as it is")
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(o.events()).NotTo(ContainElement(HavePrefix("Warning Corrected")))
		},
		Entry("an image", &appsv1.Deployment{}, func(object client.Object) {
			object.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "memcached:1.5"
		}, `Deployment cache was changed by user (spec.template.spec.containers[name="memcached"].image): restored; `+
			"nodes that have started with the change lost their keys, and are replaced"),
		Entry("a size, which replaces no node", &appsv1.Deployment{}, func(object client.Object) {
			object.(*appsv1.Deployment).Spec.Replicas = ptr.To(int32(9))
		}, "Deployment cache was changed by user (spec.replicas): restored"),
		Entry("a Service", &corev1.Service{}, func(object client.Object) {
			object.(*corev1.Service).Spec.PublishNotReadyAddresses = true
		}, "Service cache-nodes was changed by user (spec.publishNotReadyAddresses): restored"),
		Entry("a label that was removed, by nobody knows whom", &policyv1.PodDisruptionBudget{}, func(object client.Object) {
			delete(object.GetLabels(), "app.kubernetes.io/name")
		}, "PodDisruptionBudget cache was changed (metadata.labels.app.kubernetes.io/name): restored"),
		Entry("many fields, metadata last", &appsv1.Deployment{}, func(object client.Object) {
			deployment := object.(*appsv1.Deployment)
			delete(deployment.Labels, "app.kubernetes.io/name")
			deployment.Spec.Replicas, deployment.Spec.MinReadySeconds = ptr.To(int32(9)), 9
			deployment.Spec.ProgressDeadlineSeconds, deployment.Spec.RevisionHistoryLimit = ptr.To(int32(99)), ptr.To(int32(9))
		}, "Deployment cache was changed by user (spec.minReadySeconds, spec.progressDeadlineSeconds, spec.replicas and 2 more): "+
			"restored"),
	)

	DescribeTable("is reported also if it is a deletion", func(ctx SpecContext, create func(context.Context, *operator) *cachev1alpha1.Memcached) {
		o := newOperator(defaults)
		mc := create(ctx, o)
		o.events()
		for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
			Expect(user.Delete(ctx, live(ctx, mc, object), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		}
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(o.events()).To(ContainElements(
			"Warning Corrected Deployment cache was deleted: created again", "Warning Corrected Service cache-nodes was deleted: created again"))
	},
		Entry("while all is well", func(ctx context.Context, o *operator) *cachev1alpha1.Memcached { return converged(ctx, o, 3) }),
		Entry("while nodes are missing", func(ctx context.Context, o *operator) *cachev1alpha1.Memcached {
			mc := newMemcached(ctx, 3)
			for range 2 {
				Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			}
			Expect(summary(ctx, mc, "Ready")).To(HavePrefix("False/"))
			return mc
		}),
	)

	It("has an event with a text of its own, also if several things are changed while the status stays as it is", func(ctx SpecContext) {
		mc := newMemcached(ctx, 2)
		start(ctx, mc.Namespace, 0)
		ready(ctx, mc)
		version := live(ctx, mc, &cachev1alpha1.Memcached{}).ResourceVersion
		for range 2 {
			change(ctx, live(ctx, mc, &corev1.Service{}), func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true })
			Eventually(ctx, func() bool { return live(ctx, mc, &corev1.Service{}).Spec.PublishNotReadyAddresses }).Should(BeFalse())
		}
		change(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}), func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		})
		Eventually(ctx, func() int32 {
			return live(ctx, mc, &policyv1.PodDisruptionBudget{}).Spec.MaxUnavailable.IntVal
		}).Should(BeEquivalentTo(1))
		change(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}), func(b *policyv1.PodDisruptionBudget) {
			delete(b.Labels, "app.kubernetes.io/name")
		})
		Eventually(ctx, func() []string { return correctionsOf(ctx, mc) }).Should(ConsistOf(
			"Service cache-nodes was changed by user (spec.publishNotReadyAddresses): restored",
			"Service cache-nodes was changed by user (spec.publishNotReadyAddresses): restored",
			"PodDisruptionBudget cache was changed by user (spec.maxUnavailable): restored",
			"PodDisruptionBudget cache was changed (metadata.labels.app.kubernetes.io/name): restored",
		))
		Expect(live(ctx, mc, &cachev1alpha1.Memcached{}).ResourceVersion).To(Equal(version), "otherwise the version tells them apart")
	})

	It("is no deletion if the spec asks for an object that was never there", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })
		Expect(o.try(ctx, mc, writePolicy, writeStatus)).To(Succeed())
		Expect(o.events()).NotTo(ContainElement(HavePrefix("Warning Corrected")))
	})
})

func correctionsOf(ctx context.Context, mc *cachev1alpha1.Memcached) []string {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(user.List(ctx, &list, client.InNamespace(mc.Namespace))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Reason == "Corrected" {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

// corrects reconciles once. It expects a write that undoes somebody's change of a child, and a read that shows who made the
// change. It also expects the writes in more.
func (o *operator) corrects(ctx context.Context, mc *cachev1alpha1.Memcached, write string, more ...string) {
	GinkgoHelper()
	Expect(o.try(ctx, mc, append(more, write)...)).To(Succeed())
	Expect(o.requests.Gets()).To(Equal([]string{strings.Replace(write, "patch", "get", 1)}))
}
