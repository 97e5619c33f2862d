// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The API server rounds quantities up. If the operator did not round them first, each reconcile would find a difference.
var _ = DescribeTable("Resources that the API server rounds are written once",
	func(ctx SpecContext, name corev1.ResourceName, given, stored string) {
		list := corev1.ResourceList{name: resource.MustParse(given)}
		mc := newMemcached(ctx, 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Resources = cachev1alpha1.MemcachedResources{Limits: list, Requests: list}
		})
		o := newOperator(defaults)
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		o.step(ctx, mc)

		resources := live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Resources
		for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
			quantity := list[name]
			Expect(quantity.String()).To(Equal(stored))
		}
	},
	Entry(nil, corev1.ResourceCPU, "100500u", "101m"),
	Entry(nil, corev1.ResourceCPU, "1500000001n", "1501m"),
	Entry(nil, corev1.ResourceMemory, "1073741824500m", "1073741825"),
	Entry(nil, corev1.ResourceMemory, "1073741824000001u", "1073741825"),
	Entry(nil, corev1.ResourceEphemeralStorage, "1000001u", "2"),
)
