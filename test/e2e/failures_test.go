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

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A failure is told in words, takes nothing away that serves, and is over when its cause is mended:", Ordered, ContinueOnFailure, func() {
	var incidents []*incident
	begin := func(i *incident) *incident {
		incidents = append(incidents, i)
		return i
	}
	AfterAll(func() {
		rows := [][]string{{"failure", "Degraded after", "Ready after the fix", "fewest ready", "reason", "message"}}
		for _, i := range incidents {
			rows = append(rows, i.row())
		}
		clustertest.AddTable("Failures", rows)
	})

	for _, workload := range workloads {
		It("an image that does not exist, with a "+string(workload), SpecTimeout(3*time.Minute), func(ctx SpecContext) {
			i := begin(newIncidentInCache(ctx, clustertest.RunBy(workload)))
			good := i.cache.Status.Image
			i.passes(ctx, incidentNodes-1, i.edit(ctx, func() { i.cache.Spec.Image = good + "-missing" }),
				i.edit(ctx, func() { i.cache.Spec.Image = good }),
				cachev1alpha1.ReasonImagePullFailed, "The image of pod cache-", "cannot be pulled", good+"-missing", "not found")
		})
	}

	It("a request that no node of the cluster has room for", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		i.passes(ctx, incidentNodes-1, i.edit(ctx, func() {
			i.cache.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		}), i.edit(ctx, func() { i.cache.Spec.Resources.Requests = nil }),
			cachev1alpha1.ReasonUnschedulable, "Pod cache-", "cannot be scheduled", "Insufficient cpu")
	})

	It("a quota that is used up", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "team"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		i.untilRefused(ctx, i.pod(ctx), "exceeded quota")
		i.passes(ctx, incidentNodes, i.edit(ctx, func() { i.cache.Spec.Size++ }), func() {
			k8s.Change(ctx, quota, func() { quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("5") })
		}, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4")
	})
})

func (i *incident) edit(ctx context.Context, edit func()) func() {
	return func() {
		GinkgoHelper()
		k8s.Change(ctx, i.cache, edit)
	}
}

func (i *incident) pod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	return &corev1.Pod{Spec: k8s.Pods(ctx, i.neighbor.mc)[0].Spec}
}
