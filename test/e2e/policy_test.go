// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// unlistedImage is not on the list of config/allowed-images.
const unlistedImage = "registry.example.com/another:1"

// The administrator follows docs/operations/security.md. test/policy tests many more requests that the policies must refuse.
var _ = Describe("An administrator who holds the operator to its task with the admission policy", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		// Several policies of config/default deny the probe. The API server names any one of them.
		Eventually(ctx, func() error { return probe(ctx) }).Should(MatchError(ContainSubstring(
			"ValidatingAdmissionPolicy 'memcached-operator-")))
		k8s.Kubectl(ctx, "apply", "--kustomize", "config/allowed-images")
		DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "delete", "--kustomize", "config/allowed-images") })
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		Eventually(ctx, func() error {
			deployment := &appsv1.Deployment{}
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(mc), deployment); err != nil {
				return err
			}
			deployment.Spec.Template.Spec.Containers[0].Image = unlistedImage
			return k8s.Update(ctx, deployment, client.DryRunAll)
		}).Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'memcached-operator-images'")))
	}, NodeTimeout(2*time.Minute))

	It("has caches as before", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2)
		scale(ctx, mc, 3)
		k8s.UntilReady(ctx, mc)
		k8s.Change(ctx, mc, func() {
			mc.Spec.Config.Memory = ptr.To(resource.MustParse("96Mi"))
			mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false)
		})
		k8s.UntilReady(ctx, mc)
		for _, child := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), child)).To(Succeed())
			uid := child.GetUID()
			Expect(k8s.Delete(ctx, child)).To(Succeed())
			Eventually(ctx, k8s.Object(child)).ShouldNot(HaveField("UID", uid))
		}
		k8s.UntilReady(ctx, mc)
		err := k8s.Get(ctx, client.ObjectKeyFromObject(mc), &policyv1.PodDisruptionBudget{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})

	It("allows no image that is not on the list, and is told which", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := newIncidentInCache(ctx)
		i.passes(ctx, incidentNodes, i.edit(ctx, func() { i.cache.Spec.Image = unlistedImage }),
			i.edit(ctx, func() { i.cache.Spec.Image = "" }),
			cachev1alpha1.ReasonAdmissionDenied, "ValidatingAdmissionPolicy 'memcached-operator-images'", unlistedImage)
	})
})

// probe tries something that the policies forbid, as the operator's user.
func probe(ctx context.Context) error {
	_, err := k8s.TryKubectl(ctx, "create", "deployment", "probe", "--image=example.com/any", "--dry-run=server",
		"--as=system:serviceaccount:"+operatorNamespace+":"+operatorDeployment,
		"--as-group=system:serviceaccounts", "--as-group=system:authenticated")
	return err
}
