// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

func encrypted(plaintext cachev1alpha1.PlaintextMode) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "cache-tls", Plaintext: plaintext}
	}
}

var _ = Describe("A Memcached with TLS", func() {
	It("gets back the volume of the credentials when somebody else puts another in its place", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1, stable, encrypted(cachev1alpha1.PlaintextDisabled))
		o.step(ctx, mc, writeService, writeBudget, writeConfigMap, writeArguments, writeStatefulSet, writeStatus)
		before := live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template.Spec.Volumes
		change(ctx, live(ctx, mc, &appsv1.StatefulSet{}), func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Volumes[3].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
			projected := s.Spec.Template.Spec.Volumes[2].Projected
			projected.Sources = append(projected.Sources, corev1.VolumeProjection{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"},
			})
		})
		for range 3 {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template.Spec.Volumes).To(Equal(before))
		o.step(ctx, mc)
	})
})
