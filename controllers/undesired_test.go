// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

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
					Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: selector}, ServiceName: mc.Name,
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
		Entry("stays if it is somebody else's", func(mc *cachev1alpha1.Memcached) []metav1.OwnerReference {
			return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: mc.Name, UID: "theirs", Controller: ptr.To(true)}}
		}, false),
		Entry("stays if it has no owner", func(*cachev1alpha1.Memcached) []metav1.OwnerReference { return nil }, false),
	)
})
