// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A rollout", func() {
	It("names the changed fields of the spec until it is complete", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Image = "registry.example.com:5000/" + strings.Repeat("memcached/", 4) + "memcached:1.6.46"
			mc.Spec.Size, mc.Spec.Config.Memory = 4, ptr.To(resource.MustParse("128Mi"))
		})
		o.step(ctx, mc, writeDeployment, writeStatus)
		Expect(status(ctx, mc).LastApplied.Changes).To(Equal([]string{"config.memory 64Mi to 128Mi", "image"}))
		Expect(status(ctx, mc).LastApplied.Spec).To(HaveKeyWithValue("size", cachev1alpha1.RecordedValue("4")))

		By("still knowing the fields in a new process")
		o = newOperator(defaults)
		o.step(ctx, mc)
		report(ctx, mc, func(status *appsv1.DeploymentStatus) {
			status.Replicas, status.UpdatedReplicas, status.ReadyReplicas = 4, 1, 3
			status.Conditions[0].Reason = "ReplicaSetUpdated"
		})
		o.step(ctx, mc, writeStatus)
		Expect(message(ctx, mc, "Progressing")).To(Equal("1 of 4 nodes are updated; changed: config.memory 64Mi to 128Mi, image"))

		By("forgetting the fields when the rollout is complete")
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		Expect(status(ctx, mc).LastApplied.Changes).To(BeEmpty())
		o.step(ctx, mc)
	})
})
