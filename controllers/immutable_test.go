// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("A workload that somebody has recreated with another value in an immutable field", func() {
	DescribeTable("follows the size, and the status says what helps",
		func(ctx SpecContext, edit func(client.Object), message string, changes ...func(*cachev1alpha1.Memcached)) {
			o := newOperator(defaults)
			mc := settled(ctx, o, changes...)
			replaceForce(ctx, live(ctx, mc, workloadOf(mc)), edit)
			rollOut(ctx, mc)

			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 4 })
			_, _ = o.Reconcile(ctx, request(mc)) // the API server may refuse the template, which this test does not check
			Expect(replicas(live(ctx, mc, workloadOf(mc)))).To(BeEquivalentTo(4))
			Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
			Expect(o.events()).To(ContainElement(HavePrefix("Warning Conflict")))
			degraded := live(ctx, mc, &cachev1alpha1.Memcached{}).Status.Conditions[3].Message
			Expect(degraded).To(HavePrefix(message + " of "))
			Expect(degraded).To(ContainSubstring("kubectl delete %s cache -n %s --cascade=orphan", kind(mc), mc.Namespace))
			rollOut(ctx, mc)
			_, _ = o.Reconcile(ctx, request(mc))
			Expect(summary(ctx, mc, "Available")).To(Equal("True/AsExpected"))

			By("following the remedy")
			Expect(user.Delete(ctx, live(ctx, mc, workloadOf(mc)))).To(Succeed())
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			rollOut(ctx, mc)
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		},
		Entry("serviceName", func(object client.Object) { object.(*appsv1.StatefulSet).Spec.ServiceName = "other" },
			"spec.serviceName", stable),
		Entry("the selector of a Deployment", func(object client.Object) {
			delete(object.(*appsv1.Deployment).Spec.Selector.MatchLabels, memcached.ManagedByLabel)
		}, "spec.selector"),
	)

	It("follows the configuration, without repeating what cannot be done", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := settled(ctx, o, stable)
		replaceForce(ctx, live(ctx, mc, &appsv1.StatefulSet{}), func(object client.Object) {
			object.(*appsv1.StatefulSet).Spec.ServiceName = "other"
		})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.ImagePullPolicy = corev1.PullAlways })
		Expect(o.try(ctx, mc, writeStatefulSet, writeStatus)).To(Succeed())
		set := live(ctx, mc, &appsv1.StatefulSet{})
		Expect(set.Spec.Template.Spec.Containers[0].ImagePullPolicy).To(Equal(corev1.PullAlways))
		Expect(set.Spec.ServiceName).To(Equal("other"))
		o.step(ctx, mc)
		rollOut(ctx, mc)
		o.wait(5 * time.Second)
		o.step(ctx, mc, writeStatus)
		o.step(ctx, mc)
		newOperator(defaults).step(ctx, mc)
	})
})

// settled returns a Ready Memcached with three nodes.
func settled(ctx context.Context, o *operator, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := newMemcached(ctx, 3, changes...)
	Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
	rollOut(ctx, mc)
	Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
	Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
	return mc
}

// replaceForce does what "kubectl replace --force" does with an edited object.
func replaceForce(ctx context.Context, object client.Object, edit func(client.Object)) {
	GinkgoHelper()
	Expect(user.Delete(ctx, object)).To(Succeed())
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	edit(object)
	Expect(user.Create(ctx, object, client.FieldOwner("user"))).To(Succeed())
}

func replicas(object client.Object) int32 {
	switch workload := object.(type) {
	case *appsv1.Deployment:
		return *workload.Spec.Replicas
	case *appsv1.StatefulSet:
		return *workload.Spec.Replicas
	default:
		return -1
	}
}

// kind returns kubectl's name for the Kind of the Memcached's workload.
func kind(mc *cachev1alpha1.Memcached) string {
	return strings.ToLower(string(memcached.WorkloadKind(mc)))
}
