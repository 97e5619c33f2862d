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
)

// All stories run under the policy of config/default. The administrator follows docs/operations/security.md, and test/policy tries many
// more requests.
var _ = Describe("An administrator who holds the operator to its task with the admission policy", func() {
	It("sees it refused elsewhere, and has caches as before", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		Eventually(ctx, func() error { return probe(ctx) }).Should(MatchError(ContainSubstring(
			"ValidatingAdmissionPolicy 'memcached-operator-writes'")))
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
})

// probe tries something that the policy forbids, as the operator's user.
func probe(ctx context.Context) error {
	_, err := k8s.TryKubectl(ctx, "create", "deployment", "probe", "--image=example.com/any", "--dry-run=server",
		"--as=system:serviceaccount:"+operatorNamespace+":"+operatorDeployment,
		"--as-group=system:serviceaccounts", "--as-group=system:authenticated")
	return err
}
