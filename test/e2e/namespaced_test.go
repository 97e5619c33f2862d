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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A team installs the operator for its namespace only", func() {
	It("has all of it there, and other namespaces are not served", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		scaleOperator(ctx, 0) // the operator of the suite, which serves all namespaces
		elsewhere := k8s.CreateMemcached(ctx, k8s.NewNamespace(ctx), 1, clustertest.Named("stranger"))
		namespace := k8s.NewNamespace(ctx)
		uninstall := installIn(ctx, namespace)

		By("creating a cache and using it")
		mc := k8s.NewMemcached(ctx, namespace, 2, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](0)
		})
		k8s.MustServe(ctx, mc, 1000)

		By("scaling it")
		k8s.Kubectl(ctx, "scale", "--namespace", namespace, "memcached/cache", "--replicas=3")
		Eventually(ctx, func() []string {
			k8s.UntilReady(ctx, mc)
			return mc.Status.Nodes
		}).Should(HaveLen(3))
		k8s.MustServe(ctx, mc, 1000)

		By("deleting it")
		Expect(k8s.Delete(ctx, mc)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Pods(ctx, mc)).To(BeEmpty())
			err := k8s.Get(ctx, client.ObjectKeyFromObject(mc), &appsv1.Deployment{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		}).Should(Succeed())

		By("looking at the other namespace, where nobody has seen the Memcached")
		Expect(k8s.Reread(ctx, elsewhere)).To(Succeed())
		Expect(elsewhere.Status.ObservedGeneration).To(Equal(int64(-1)))
		Expect(elsewhere.ManagedFields).To(HaveLen(1), "only its user may have written it")

		By("uninstalling the operator, after which a cache goes on serving")
		mc = k8s.NewMemcached(ctx, namespace, 1)
		cache := k8s.NewClient(ctx, mc)
		Expect(cache.Write(ctx, 100, 100)).To(Succeed())
		uninstall(ctx)
		clustertest.MustFind(ctx, cache, 100)
		Expect(k8s.Reread(ctx, mc)).To(Succeed(), "the resource must be defined still")

		By("starting the operator for all namespaces again, which serves both")
		scaleOperator(ctx, 1)
		k8s.UntilReady(ctx, elsewhere)
		scale(ctx, mc, 2)
		k8s.UntilReady(ctx, mc)
		clustertest.MustFind(ctx, cache, 100)
	})
})

// installIn installs the operator for one namespace only. A call of uninstall, or else the end of the spec, removes the operator.
func installIn(ctx context.Context, namespace string) (uninstall func(context.Context)) {
	GinkgoHelper()
	target := func(ctx context.Context, name string, more ...string) {
		GinkgoHelper()
		k8s.Make(ctx, append(more, name, "KUSTOMIZATION=config/namespaced", "DEPLOY_NAMESPACE="+namespace, "IMG="+operatorImage)...)
	}
	uninstall = func(ctx context.Context) {
		GinkgoHelper()
		target(ctx, "undeploy", "ignore-not-found=true")
		Eventually(ctx, k8s.OperatorPods).WithArguments(namespace).Should(BeEmpty())
	}
	target(ctx, "deploy")
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			_, _ = k8s.TryKubectl(ctx, "--namespace", namespace, "logs", "deployment/"+operatorDeployment, "--tail=100")
		}
		uninstall(ctx)
	})
	return uninstall
}
