// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
)

const (
	candidateChannel = "candidate-v0"
	stableChannel    = "stable-v0"
	// keys is the number of keys that a story stores. Each node gets many of them.
	keys = 2000
)

func tagged(image, tag string) string { return image[:strings.LastIndexByte(image, ':')+1] + tag }

var _ = Describe("An administrator subscribes to the operator", clustertest.Core, Ordered, func() {
	var (
		operators, caches string
		mc                *cachev1alpha1.Memcached
		cache             *clustertest.FullCache
	)

	BeforeAll(func(ctx SpecContext) {
		beginStory(ctx)
		operators, caches = k8s.NewNamespace(ctx), k8s.NewNamespace(ctx)
		newCatalog(ctx, catalogImage)
		newScope(ctx, operators)
	}, NodeTimeout(2*time.Minute))

	It("installs nothing before the plan is approved", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		subscribe(ctx, operators, candidateChannel, operatorsv1alpha1.ApprovalManual)
		plan := untilPlanned(ctx, operators, version)
		Consistently(ctx, installed).WithArguments(operators).WithTimeout(3 * time.Second).Should(BeEmpty())
		approve(ctx, plan)
		untilInstalled(ctx, operators, version)
		Expect(runningImage(ctx, operators)).To(Equal(operatorImage))
	})

	It("has a cache that is full of keys", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc = k8s.NewMemcached(ctx, caches, 3)
		cache = k8s.Fill(ctx, mc, keys)
	})

	It("lets those who may edit a namespace have caches there", SpecTimeout(time.Minute), func(ctx SpecContext) {
		k8s.Kubectl(ctx, "create", "rolebinding", "editor", "--namespace", caches, "--clusterrole=edit", "--user=alice")
		for _, verb := range []string{"create", "patch", "delete"} {
			Eventually(ctx, func(ctx context.Context) error {
				_, err := k8s.TryKubectl(ctx, "auth", "can-i", verb, "memcacheds.cache.example.com",
					"--namespace", caches, "--as=alice")
				return err
			}).Should(Succeed(), verb)
		}
	})

	It("upgrades the operator, when the new version is approved, without losing a key", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		cache.MustSurvive(ctx, func() {
			release(ctx, tagged(catalogImage, "v"+nextVersion))
			plan := untilPlanned(ctx, operators, nextVersion)
			Consistently(ctx, installed).WithArguments(operators).WithTimeout(3 * time.Second).
				Should(HaveKeyWithValue(version, operatorsv1alpha1.CSVPhaseSucceeded))
			approve(ctx, plan)
			untilInstalled(ctx, operators, nextVersion)
			Expect(runningImage(ctx, operators)).To(Equal(tagged(operatorImage, "v"+nextVersion)))

			By("using the new version, which serves another cache")
			k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		})
	})

	It("uninstalls the operator while the cache serves", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		uninstall(ctx, operators, nextVersion)
		cache.MustBeUntouched(ctx)

		By("deleting another cache, which needs no operator")
		orphan := k8s.CreateMemcached(ctx, k8s.NewNamespace(ctx), 1)
		k8s.Kubectl(ctx, "delete", "--namespace", orphan.Namespace, "memcached/"+orphan.Name, "--timeout=10s")
	})

	It("installs it again, which adopts the cache as it is", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		newScope(ctx, operators)
		subscribe(ctx, operators, stableChannel, operatorsv1alpha1.ApprovalAutomatic)
		untilInstalled(ctx, operators, nextVersion)
		k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		cache.MustBeUntouched(ctx)

		By("scaling it, which proves that it is served")
		k8s.Change(ctx, mc, func() { mc.Spec.Size = 4 })
		k8s.UntilReady(ctx, mc)
		Expect(mc.Status.Nodes).To(HaveLen(4))
		uninstall(ctx, operators, nextVersion)
	})
})

var _ = Describe("An administrator leaves upgrades to OLM", func() {
	It("upgrades the operator as soon as the catalog has a new version", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		operators := k8s.NewNamespace(ctx)
		newCatalog(ctx, catalogImage)
		newScope(ctx, operators)
		subscribe(ctx, operators, candidateChannel, operatorsv1alpha1.ApprovalAutomatic)
		k8s.Run(ctx, "bash", "-e", "-c", documentedWait(operators)) // this wait begins before the ClusterServiceVersion exists
		untilInstalled(ctx, operators, version)

		By("changing from the candidate channel to the stable one, which has the same version")
		k8s.Kubectl(ctx, "patch", "--namespace", operators, "subscription/"+packageName, "--type=merge",
			"--patch", `{"spec":{"channel":"`+stableChannel+`"}}`)
		release(ctx, tagged(catalogImage, "v"+nextVersion))
		untilInstalled(ctx, operators, nextVersion)

		By("being told why there is no way back to the version before")
		// OLM may write the status of a deleted Subscription to a new one of the same name, and then does not resolve the new one. So the
		// test replaces the Subscription until OLM reports the failure.
		Eventually(ctx, func(gomega Gomega) {
			k8s.Kubectl(ctx, "delete", "--namespace", operators, "subscription/"+packageName)
			subscribe(ctx, operators, stableChannel, operatorsv1alpha1.ApprovalAutomatic, func(spec *operatorsv1alpha1.SubscriptionSpec) {
				spec.StartingCSV = versionName(version)
			})
			gomega.Eventually(ctx, func() (string, error) {
				var sub operatorsv1alpha1.Subscription
				err := k8s.Get(ctx, client.ObjectKey{Namespace: operators, Name: packageName}, &sub)
				return sub.Status.GetCondition(operatorsv1alpha1.SubscriptionResolutionFailed).Message, err
			}).WithTimeout(30 * time.Second).Should(And(
				ContainSubstring("clusterserviceversion "+versionName(nextVersion)+" exists"), ContainSubstring(versionName(version))))
		}).WithTimeout(2 * time.Minute).Should(Succeed())
		Expect(installed(ctx, operators)).To(Equal(phases{nextVersion: operatorsv1alpha1.CSVPhaseSucceeded}))
		uninstall(ctx, operators, nextVersion)
	})
})

// documentedWait returns the commands of install.md that wait for the installation, for this namespace.
func documentedWait(namespace string) string {
	GinkgoHelper()
	for _, block := range docs.Parse("install.md", []byte(clustertest.Read("docs/operations/install.md"))).Blocks {
		if strings.Contains(block.Text, "--for=create") {
			return strings.ReplaceAll(block.Text, "memcached-operator-system", namespace)
		}
	}
	Fail("install.md does not say how to wait for the ClusterServiceVersion")
	return ""
}

func runningImage(ctx context.Context, namespace string) (string, error) {
	var deployment appsv1.Deployment
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorDeployment}, &deployment); err != nil {
		return "", err
	}
	return deployment.Spec.Template.Spec.Containers[0].Image, nil
}
