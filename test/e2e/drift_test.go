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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// The operator uses some of its permissions only to undo drift. permissions_test.go demands that the suite uses every permission, so
// these specs cause drift.
var _ = Describe("Drift", func() {
	const managedBy = "app.kubernetes.io/managed-by"

	It("labels that are removed come back", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		for _, workload := range workloads {
			mc := k8s.NewMemcached(ctx, namespace, 1, clustertest.Named(strings.ToLower(string(workload))), clustertest.RunBy(workload))
			before, pods := childrenOf(ctx, mc), k8s.Incarnations(ctx, mc)
			for i, object := range objectsOf(mc) {
				Expect(k8s.Reread(ctx, object)).To(Succeed())
				k8s.Change(ctx, object, func() { delete(object.GetLabels(), managedBy) })
				Eventually(ctx, k8s.Object(object)).Should(HaveField("Labels", HaveKeyWithValue(managedBy, "memcached-operator")))
				Expect(string(object.GetUID())).To(Equal(before[i].uid))
			}
			Expect(k8s.Incarnations(ctx, mc)).To(Equal(pods), "no pod is replaced or restarted")
		}
	})

	It("a NetworkPolicy stays as the spec says, and is deleted when it is not wanted any more", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy.Enabled = ptr.To(true)
		})
		policy := &networkingv1.NetworkPolicy{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), policy)).To(Succeed())
		k8s.Change(ctx, policy, func() { policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{}) })
		Eventually(ctx, k8s.Object(policy)).Should(HaveField("Spec.Ingress", HaveLen(1)))
		k8s.Change(ctx, policy, func() { delete(policy.Labels, managedBy) })
		Eventually(ctx, k8s.Object(policy)).Should(HaveField("Labels", HaveKeyWithValue(managedBy, "memcached-operator")))
		k8s.Change(ctx, mc, func() { mc.Spec.NetworkPolicy.Enabled = ptr.To(false) })
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(mc), &networkingv1.NetworkPolicy{}))
		}).Should(BeTrue())
	})

	It("a budget that is not wanted any more is deleted", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		k8s.Change(ctx, mc, func() { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(mc), &policyv1.PodDisruptionBudget{}))
		}).Should(BeTrue())
	})
})

var _ = Describe("A memcached that exits", func() {
	It("is started again in the same pod, empty", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		pod := k8s.Pods(ctx, mc)[0]
		Expect(k8s.NewClient(ctx, mc).Write(ctx, 10, 100)).To(Succeed())

		ended := time.Now()
		// The command may fail, because it ends the container in which it runs.
		_, _ = k8s.TryKubectl(ctx, "--namespace", pod.Namespace, "exec", pod.Name, "--", "sh", "-c", "kill 1")

		By("serving again at the same address")
		Eventually(ctx, func(g Gomega) {
			now := k8s.Pods(ctx, mc)
			g.Expect(now).To(HaveLen(1))
			g.Expect(now[0].UID).To(Equal(pod.UID))
			g.Expect(clustertest.Restarts(&now[0])).To(BeEquivalentTo(1))
			g.Expect(connectAndAsk(ctx, traffic.Address(&pod))).To(Succeed())
		}).Should(Succeed())
		AddReportEntry("An exited memcached", "served again after "+seconds(time.Since(ended)), ReportEntryVisibilityAlways)
		k8s.UntilReady(ctx, mc)

		By("without what it held, as any restart")
		cache := k8s.NewClient(ctx, mc)
		Expect(cache.Read(ctx, 10)).To(Equal(traffic.Hits{Keys: 10}))
		clustertest.MustStore(ctx, cache, 10)
	})
})
