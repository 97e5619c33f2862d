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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("A team installs the operator for its namespace only", func() {
	It("has all of it there, and no other namespace is read or written", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		began := time.Now()
		scaleOperator(ctx, 0) // it serves all namespaces
		elsewhere := &cachev1alpha1.Memcached{Spec: cachev1alpha1.MemcachedSpec{Size: 1}}
		elsewhere.Namespace, elsewhere.Name = newNamespace(ctx), "stranger"
		Expect(k8s.Create(ctx, elsewhere)).To(Succeed())
		namespace := newNamespace(ctx)
		uninstall := installIn(ctx, namespace)

		By("creating a cache and using it")
		mc := newMemcached(ctx, namespace, 2, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](0)
		})
		mustServe(ctx, mc)

		By("scaling it")
		kubectl(ctx, "scale", "--namespace", namespace, "memcached/cache", "--replicas=3")
		Eventually(ctx, func() []string {
			untilReady(ctx, mc)
			return mc.Status.Nodes
		}).Should(HaveLen(3))
		mustServe(ctx, mc)

		By("changing its configuration, which replaces its nodes")
		nodes := mc.Status.Nodes
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 100 })
		untilReady(ctx, mc)
		Expect(mc.Status.Nodes).NotTo(ContainElements(nodes))
		mustServe(ctx, mc)

		By("deleting it")
		Expect(k8s.Delete(ctx, mc)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(podsOf(ctx, mc)).To(BeEmpty())
			err := k8s.Get(ctx, client.ObjectKeyFromObject(mc), &appsv1.Deployment{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		}).Should(Succeed())

		By("looking at the other namespace, where nobody has seen the Memcached")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(elsewhere), elsewhere)).To(Succeed())
		Expect(elsewhere.Status).To(Equal(cachev1alpha1.MemcachedStatus{}))
		Expect(elsewhere.ManagedFields).To(HaveLen(1), "only its user may have written it")
		if clusterDir != "" {
			mustStayIn(namespace, began)
		}

		By("uninstalling the operator, after which a cache goes on serving")
		mc = newMemcached(ctx, namespace, 1)
		cache := newClient(serversOf(ctx, mc))
		Expect(cache.Write(ctx, 100, 100)).To(Succeed())
		uninstall(ctx)
		Expect(cache.Read(ctx, 100)).To(Equal(traffic.Hits{Keys: 100, Hits: 100}))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed(), "the resource must be defined still")

		By("starting the operator for all namespaces again, which serves both")
		scaleOperator(ctx, 1)
		untilReady(ctx, elsewhere)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
		untilReady(ctx, mc)
		Expect(cache.Read(ctx, 100)).To(Equal(traffic.Hits{Keys: 100, Hits: 100}))
	})
})

// installIn installs the operator for one namespace only. What it returns removes it, which else happens when the spec ends.
func installIn(ctx context.Context, namespace string) (uninstall func(context.Context)) {
	GinkgoHelper()
	target := func(ctx context.Context, name string, more ...string) {
		GinkgoHelper()
		makeTarget(ctx, append([]string{name, "KUSTOMIZATION=config/namespaced", "DEPLOY_NAMESPACE=" + namespace, "IMG=" + operatorImage}, more...)...)
	}
	uninstall = func(ctx context.Context) {
		GinkgoHelper()
		target(ctx, "undeploy", "ignore-not-found=true")
		Eventually(ctx, func(g Gomega) {
			var pods corev1.PodList
			g.Expect(k8s.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
			g.Expect(pods.Items).To(BeEmpty())
		}).Should(Succeed())
	}
	target(ctx, "deploy")
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			output, err := tryKubectl(ctx, "--namespace", namespace, "logs", "deployment/"+operatorDeployment, "--tail=100")
			GinkgoWriter.Println(output, err)
		}
		uninstall(ctx)
	})
	kubectl(ctx, "--namespace", namespace, "rollout", "status", "deployment", operatorDeployment, "--timeout=2m")
	return uninstall
}

// mustServe fails unless every key that is written can be read.
func mustServe(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	cache := newClient(serversOf(ctx, mc))
	Expect(cache.Write(ctx, 1000, 100)).To(Succeed())
	Expect(cache.Read(ctx, 1000)).To(Equal(traffic.Hits{Keys: 1000, Hits: 1000}))
}

// mustStayIn fails if the operator of a namespace has sent a request outside of it since a time, or one that it may not.
// URLs that are no resources say what the API server has.
func mustStayIn(namespace string, since time.Time) {
	GinkgoHelper()
	inside := 0
	for event := range requestsOf(operatorUser(namespace), since) {
		Expect(denied(event)).To(BeFalse(), "%s %s", event.Verb, event.RequestURI)
		if resourceOf(event) == "" {
			Expect(event.RequestURI).To(MatchRegexp(`^/apis?(/[a-z0-9.]+){0,2}([?]timeout=[0-9]+s)?$`))
			continue
		}
		Expect(event.ObjectRef.Namespace).To(Equal(namespace), "%s %s", event.Verb, event.RequestURI)
		inside++
	}
	Expect(inside).To(BeNumerically(">", 0), "requests in the namespace itself")
	AddReportEntry("Requests of an operator that is installed in one namespace", inside, ReportEntryVisibilityAlways)
}
