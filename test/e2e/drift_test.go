// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The operator needs some permissions only for this: see permissions_test.go.
var _ = Describe("Drift", func() {
	const managedBy = "app.kubernetes.io/managed-by"

	It("labels that are removed come back", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		before, pods := childrenOf(ctx, mc), k8s.Incarnations(ctx, mc)
		for i, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}} {
			key := client.ObjectKeyFromObject(mc)
			Expect(k8s.Get(ctx, key, object)).To(Succeed())
			k8s.Change(ctx, object, func() { delete(object.GetLabels(), managedBy) })
			Eventually(ctx, func(g Gomega) {
				g.Expect(k8s.Get(ctx, key, object)).To(Succeed())
				g.Expect(object.GetLabels()).To(HaveKeyWithValue(managedBy, "memcached-operator"))
			}).Should(Succeed())
			Expect(string(object.GetUID())).To(Equal(before[i].uid))
		}
		Expect(k8s.Incarnations(ctx, mc)).To(Equal(pods), "no pod is replaced or restarted")
	})

	It("a budget that is not wanted any more is deleted", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		k8s.Change(ctx, mc, func() { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(mc), &policyv1.PodDisruptionBudget{}))
		}).Should(BeTrue())
	})
})
