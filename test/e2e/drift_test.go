// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("Drift", func() {
	const managedBy = "app.kubernetes.io/managed-by"

	It("goes: labels come back, rules of others leave, unwanted objects are deleted", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		for _, workload := range workloads {
			mc := k8s.NewMemcached(ctx, namespace, 1, clustertest.Named(strings.ToLower(string(workload))), clustertest.RunBy(workload),
				func(mc *cachev1alpha1.Memcached) { mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })
			policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mc.Name}}
			before, pods := childrenOf(ctx, mc), k8s.Incarnations(ctx, mc)
			for _, object := range append(objectsOf(mc), policy) {
				Expect(k8s.Reread(ctx, object)).To(Succeed())
				k8s.Change(ctx, object, func() { delete(object.GetLabels(), managedBy) })
				Eventually(ctx, k8s.Object(object)).Should(HaveField("Labels", HaveKeyWithValue(managedBy, "memcached-operator")))
			}
			for i, now := range childrenOf(ctx, mc) {
				Expect(now.uid).To(Equal(before[i].uid), now.kind)
			}
			rules := len(policy.Spec.Ingress)
			k8s.Change(ctx, policy, func() { policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{}) })
			Eventually(ctx, k8s.Object(policy)).Should(HaveField("Spec.Ingress", HaveLen(rules)))

			k8s.Change(ctx, mc, func() {
				mc.Spec.NetworkPolicy, mc.Spec.PodDisruptionBudget.Enabled = nil, ptr.To(false)
			})
			for _, object := range []client.Object{policy, &policyv1.PodDisruptionBudget{}} {
				Eventually(ctx, k8s.Get).WithArguments(client.ObjectKeyFromObject(mc), object).Should(Satisfy(apierrors.IsNotFound))
			}
			Expect(k8s.Incarnations(ctx, mc)).To(Equal(pods), "no pod is replaced or restarted")
		}
	})
})
