// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

package olmv1

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// keys is the number of keys that a story stores. Each node gets many of them.
const keys = 2000

var _ = Describe("An administrator installs the operator as a ClusterExtension", Ordered, func() {
	var (
		previous, caches string
		mc               *cachev1alpha1.Memcached
		cache            *clustertest.FullCache
	)

	BeforeAll(func(ctx SpecContext) {
		beginStory(ctx)
		release(ctx, version+"-upgrades") // in this catalog, the version of the checkout upgrades the previous version
		previous, caches = clustertest.PreviousVersion(), k8s.NewNamespace(ctx)
	}, NodeTimeout(2*time.Minute))

	It("gets the version that is asked for, and caches that serve", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		apply(ctx, pinned(previous))
		untilInstalled(ctx, previous)
		mc = k8s.CreateMemcached(ctx, caches, 3)
		untilReady(ctx, mc)
		cache = k8s.Fill(ctx, mc, keys)
	})

	It("upgrades the operator under OLM v1 without losing a key", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		cache.MustSurvive(ctx, func() {
			apply(ctx, pinned(version))
			untilInstalled(ctx, version)

			By("using the new version, which then leads")
			Eventually(ctx, func() string {
				return k8s.Kubectl(ctx, "get", "lease", "memcached-operator.cache.example.com", "--namespace", operatorNamespace,
					"--output=jsonpath={.spec.holderIdentity}")
			}).Should(HavePrefix(operatorPod(ctx)))
		})
	})

	It("runs nothing but what the list of images has", SpecTimeout(time.Minute), func(ctx SpecContext) {
		list := clustertest.Read("docs/operations/images.txt")
		var pods corev1.PodList
		Expect(k8s.List(ctx, &pods)).To(Succeed())
		for _, pod := range pods.Items {
			if pod.Namespace != "kube-system" {
				Expect(list).To(ContainSubstring("\n" + pod.Spec.Containers[0].Image + "\n"))
			}
		}
	})

	It("cannot stop the operator, which OLM starts again", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		k8s.Kubectl(ctx, "scale", operatorDeployment, "--namespace", operatorNamespace, "--replicas=0")
		Eventually(ctx, func() string {
			return k8s.Kubectl(ctx, "get", operatorDeployment, "--namespace", operatorNamespace,
				"--output=jsonpath={.status.readyReplicas}")
		}).Should(Equal("1"))
	})

	It("is told why there is no way back", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		apply(ctx, pinned(previous))
		Eventually(ctx, progress).WithArguments(extension).Should(HavePrefix(fmt.Sprintf(
			"error upgrading from currently installed version %q: no bundles found", version)))
		apply(ctx, pinned(version))
		Eventually(ctx, progress).WithArguments(extension).Should(Equal("Desired state reached"))
	})

	It("cannot have the operator twice", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		second := documented("ClusterExtension")
		second.SetName("second")
		apply(ctx, second)
		Eventually(ctx, progress).WithArguments("clusterextension/second").Should(HaveSuffix("cannot be managed by operator-controller"))
		k8s.Kubectl(ctx, "delete", "clusterextension/second", "--timeout=1m")
		cache.MustBeUntouched(ctx)
	})

	It("gets a new version as soon as the catalog has it, if no version is pinned", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		apply(ctx, candidate())
		release(ctx, nextVersion)
		untilInstalled(ctx, nextVersion)
		cache.MustBeUntouched(ctx)
	})

	It("deletes the ClusterExtension while the caches go on serving", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		Expect(k8s.Kubectl(ctx, "get", definition, "--output=jsonpath={.metadata.ownerReferences}")).To(BeEmpty())
		deleteExtension(ctx)
		cache.MustBeUntouched(ctx)
	})

	It("installs the operator again, which adopts the caches as they are", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		apply(ctx, candidate())
		untilInstalled(ctx, nextVersion)
		cache.MustBeUntouched(ctx)

		By("scaling one, which proves that it is served")
		k8s.Change(ctx, mc, func() { mc.Spec.Size = 4 })
		untilReady(ctx, mc)
		Expect(mc.Status.Nodes).To(HaveLen(4))
	})

	It("removes everything", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		deleteExtension(ctx)
		k8s.Kubectl(ctx, append([]string{"delete", "--timeout=1m"}, definitions...)...)
		Eventually(ctx, k8s.Remains).Should(BeEmpty())
		Eventually(ctx, k8s.Incarnations).WithArguments(mc).Should(BeEmpty(), "pods of the cache")
	})
})

var _ = Describe("An administrator whose cluster has the definition from elsewhere", func() {
	It("hands it over to OLM v1 with its caches", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		k8s.Kubectl(ctx, "apply", "--server-side", "--filename", "config/crd/bases")
		k8s.Kubectl(ctx, "wait", definition, "--for=condition=Established", "--timeout=1m")
		mc := k8s.CreateMemcached(ctx, k8s.NewNamespace(ctx), 1)
		apply(ctx, documented("ClusterExtension"))
		Eventually(ctx, progress).WithArguments(extension).Should(HaveSuffix(
			"already exists in namespace '' and cannot be managed by operator-controller"))

		for _, each := range definitions {
			k8s.Kubectl(ctx, "label", each, "app.kubernetes.io/managed-by=Helm")
			k8s.Kubectl(ctx, "annotate", each, "meta.helm.sh/release-name="+packageName, "meta.helm.sh/release-namespace="+operatorNamespace)
		}
		untilInstalled(ctx, version)
		untilReady(ctx, mc)
		k8s.MustServe(ctx, mc, keys)
	})
})

// release gives the catalog the image of a version, as the publisher of that version does.
func release(ctx context.Context, version string) {
	GinkgoHelper()
	image := k8s.Kubectl(ctx, "get", catalog, "--output=jsonpath={.spec.source.image.ref}")
	image = image[:strings.LastIndexByte(image, ':')] + ":v" + version
	k8s.Kubectl(ctx, "patch", catalog, "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"source":{"image":{"ref":%q}}}}`, image))
}

// operatorPod returns the name of the only operator pod that is not terminating.
func operatorPod(ctx context.Context) string {
	GinkgoHelper()
	pods := slices.DeleteFunc(clustertest.Must(k8s.OperatorPods(ctx, operatorNamespace)), func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil
	})
	Expect(pods).To(HaveLen(1))
	return pods[0].Name
}

// untilReady waits until a Memcached is Ready, with all its nodes.
func untilReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "wait", "memcached/"+mc.Name, "--namespace", mc.Namespace,
		fmt.Sprintf("--for=jsonpath={.status.readyReplicas}=%d", mc.Spec.Size), "--timeout=2m")
	k8s.UntilReady(ctx, mc)
}
