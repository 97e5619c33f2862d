// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var _ = Describe("What a Memcached deleted with --cascade=orphan has left", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	leftovers := func(mc *cachev1alpha1.Memcached) []client.Object {
		name := metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}
		servers := metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name + "-servers"}
		return []client.Object{
			&policyv1.PodDisruptionBudget{ObjectMeta: name}, &networkingv1.NetworkPolicy{ObjectMeta: name}, &corev1.ConfigMap{ObjectMeta: servers},
		}
	}
	// orphan deletes a Memcached but not its children. It removes the owner reference of each child, and changes the child with the
	// function more. It then creates a Memcached of the same name that wants fewer children, and reconciles it.
	orphan := func(ctx context.Context, more func(client.Object)) *cachev1alpha1.Memcached {
		GinkgoHelper()
		earlier := settled(ctx, o, stable, func(mc *cachev1alpha1.Memcached) { mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })
		Expect(user.Delete(ctx, earlier)).To(Succeed())
		children := append(leftovers(earlier), live(ctx, earlier, &corev1.Service{}), live(ctx, earlier, &appsv1.StatefulSet{}))
		for _, child := range children {
			change(ctx, child, func(child client.Object) {
				child.SetOwnerReferences(nil)
				more(child)
			})
		}
		mc := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: earlier.Namespace, Name: earlier.Name},
			Spec:       cachev1alpha1.MemcachedSpec{Size: 3},
		}
		mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false)
		Expect(user.Create(ctx, mc)).To(Succeed())
		o = newOperator(defaults)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		return mc
	}

	It("goes if the next one of the name does not want it, but for the workload with the nodes, and is told", func(ctx SpecContext) {
		mc := orphan(ctx, func(client.Object) {})
		for _, child := range leftovers(mc) {
			Expect(user.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Satisfy(apierrors.IsNotFound), "%T", child)
		}
		set := live(ctx, mc, &appsv1.StatefulSet{})
		Expect(set.OwnerReferences).To(BeEmpty())
		Expect(set.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		rollOut(ctx, mc)
		left := createPod(ctx, mc, "0", corev1.ConditionTrue, appsv1.ControllerRevisionHashLabelKey, "rev1",
			metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true)})
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/NodesOrphaned"))
		Expect(message(ctx, mc, "Degraded")).To(Equal("Clients still use nodes of a former workload: cache-0. " +
			"To remove them with what they hold: kubectl delete -n " + mc.Namespace + " statefulset/cache"))

		By("following the remedy")
		Expect(user.Delete(ctx, set)).To(Succeed())
		Expect(user.Delete(ctx, left, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})

	It("stays if it does not show that it is ours", func(ctx SpecContext) {
		mc := orphan(ctx, func(child client.Object) {
			annotations := child.GetAnnotations()
			delete(annotations, "cache.example.com/applied-hash")
			child.SetAnnotations(annotations)
		})
		for _, child := range leftovers(mc) {
			Expect(user.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed(), "%T", child)
		}
	})
})

var _ = Describe("A StatefulSet beside the Deployment that spec.workload asks for", func() {
	DescribeTable("such as a restored one",
		func(ctx SpecContext, owner func(*cachev1alpha1.Memcached) []metav1.OwnerReference, deleted bool) {
			o := newOperator(defaults)
			mc := converged(ctx, o, 2)
			before := live(ctx, mc, &appsv1.Deployment{})
			selector := memcached.SelectorLabels(mc)
			set := &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name, Labels: selector, OwnerReferences: owner(mc)},
				Spec: appsv1.StatefulSetSpec{
					Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: selector}, ServiceName: mc.Name + "-nodes",
					Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: selector},
						Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached:1.6.45"}}},
					},
				},
			}
			Expect(user.Create(ctx, set)).To(Succeed())
			restored := set.DeepCopy()
			if deleted {
				o.step(ctx, mc, "delete statefulsets")
			} else {
				o.step(ctx, mc)
			}
			err := user.Get(ctx, client.ObjectKeyFromObject(set), set)
			if deleted {
				Expect(err).To(Satisfy(apierrors.IsNotFound))
			} else {
				Expect(err).NotTo(HaveOccurred())
				Expect(set).To(Equal(restored))
			}
			Expect(live(ctx, mc, &appsv1.Deployment{})).To(Equal(before))
			Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		},
		Entry("goes if this Memcached controls it", func(mc *cachev1alpha1.Memcached) []metav1.OwnerReference {
			return []metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.GroupVersion.WithKind("Memcached"))}
		}, true),
		Entry("stays if it has no owner", func(*cachev1alpha1.Memcached) []metav1.OwnerReference { return nil }, false),
	)
})
