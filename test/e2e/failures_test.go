// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A failure is told in words, takes nothing away that serves, and is over when its cause is mended:", func() {
	for _, workload := range workloads {
		It("an image that does not exist, a quota and no room, with a "+string(workload), SpecTimeout(5*time.Minute), func(ctx SpecContext) {
			i := newIncident(ctx, clustertest.RunBy(workload), leavesQuickly)

			if workload == cachev1alpha1.WorkloadDeployment {
				By("a quota that is used up")
				quota := &corev1.ResourceQuota{
					ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "team"},
					Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}},
				}
				Expect(k8s.Create(ctx, quota)).To(Succeed())
				probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "probe"}, Spec: k8s.Pods(ctx, i.neighbor.mc)[0].Spec}
				Eventually(ctx, func() error {
					return k8s.Create(ctx, probe.DeepCopy(), client.DryRunAll)
				}).Should(MatchError(ContainSubstring("exceeded quota")))
				i.passes(ctx, incidentNodes, i.edit(ctx, func() { i.cache.Spec.Size++ }), func() { Expect(k8s.Delete(ctx, quota)).To(Succeed()) },
					cachev1alpha1.ReasonQuotaExceeded, "exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4")
			}

			By("a request that no node of the cluster has room for")
			i.passes(ctx, incidentNodes-1, i.edit(ctx, func() {
				i.cache.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
			}), i.edit(ctx, func() { i.cache.Spec.Resources.Requests = nil }),
				cachev1alpha1.ReasonUnschedulable, "Pod cache-", "cannot be scheduled", "Insufficient cpu")

			By("an image that does not exist")
			good := i.cache.Status.Image
			i.passes(ctx, incidentNodes-1, i.edit(ctx, func() { i.cache.Spec.Image = good + "-missing" }),
				i.edit(ctx, func() { i.cache.Spec.Image = good }),
				cachev1alpha1.ReasonImagePullFailed, "The image of memcached in pod cache-", "cannot be pulled", good+"-missing", "not found")
		})
	}
})

func (i *incident) edit(ctx context.Context, edit func()) func() {
	return func() {
		GinkgoHelper()
		k8s.Change(ctx, i.cache, edit)
	}
}
