// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

package olmv1

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("An administrator installs the operator as a ClusterExtension", Ordered, func() {
	var (
		previous, caches string
		mc               *cachev1alpha1.Memcached
		cache            *traffic.Client
		nodes            map[types.UID]int32
	)

	// mustBeUntouched fails if a node has been replaced or restarted, or a key lost.
	mustBeUntouched := func(ctx context.Context) {
		GinkgoHelper()
		Expect(restarts(ctx, mc)).To(Equal(nodes), "restarts by pod")
		Expect(cache.Read(ctx, keys)).To(Equal(all))
	}

	BeforeAll(func(ctx SpecContext) {
		beginStory(ctx)
		previous, caches = previousVersion(), newNamespace(ctx)
	}, NodeTimeout(2*time.Minute))

	It("gets the version that is asked for, and caches that serve", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		apply(ctx, pinned(previous))
		untilInstalled(ctx, previous)
		mc = createMemcached(ctx, caches, 3)
		untilReady(ctx, mc)
		cache = newClient(ctx, mc)
		Expect(cache.Write(ctx, keys, 100)).To(Succeed())
		nodes = restarts(ctx, mc)
		Expect(nodes).To(HaveLen(3))
		mustBeUntouched(ctx)
	})

	It("upgrades the operator under OLM v1 without losing a key", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		stop := startReading(ctx, cache)
		apply(ctx, pinned(version))
		untilInstalled(ctx, version)

		By("using the new version, which leads by now")
		Eventually(ctx, func() string {
			return kubectl(ctx, "get", "lease", "memcached-operator.cache.example.com", "--namespace", operatorNamespace, "--output=jsonpath={.spec.holderIdentity}")
		}).Should(HavePrefix(operatorPod(ctx)))
		rounds, missing := stop()
		Expect(restarts(ctx, mc)).To(Equal(nodes), "restarts by pod: an upgrade of the operator must replace none")
		Expect(rounds).To(BeNumerically(">", 10))
		Expect(missing).To(BeZero(), "keys that were missing, in %d rounds", rounds)
		mustBeUntouched(ctx)
		AddReportEntry(fmt.Sprintf("0 of %d pods restarted, 0 of %d keys lost in each of %d rounds", len(nodes), keys, rounds))
	})

	It("runs nothing but what the list of images has", SpecTimeout(time.Minute), func(ctx SpecContext) {
		list := read("docs/operations/images.txt")
		var pods corev1.PodList
		Expect(k8s.List(ctx, &pods)).To(Succeed())
		for _, pod := range pods.Items {
			if pod.Namespace != "kube-system" {
				Expect(list).To(ContainSubstring("\n" + pod.Spec.Containers[0].Image + "\n"))
			}
		}
	})

	It("cannot stop the operator, which OLM starts again", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		kubectl(ctx, "scale", operatorDeployment, "--namespace", operatorNamespace, "--replicas=0")
		Eventually(ctx, func() string {
			return kubectl(ctx, "get", operatorDeployment, "--namespace", operatorNamespace, "--output=jsonpath={.status.readyReplicas}")
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
		kubectl(ctx, "delete", "clusterextension/second", "--timeout=1m")
		mustBeUntouched(ctx)
	})

	It("gets a new version as soon as the catalog has it, if no version is pinned", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		apply(ctx, candidate())
		release(ctx, nextVersion)
		untilInstalled(ctx, nextVersion)
		mustBeUntouched(ctx)
	})

	It("deletes the ClusterExtension while the caches go on serving", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		Expect(kubectl(ctx, "get", definition, "--output=jsonpath={.metadata.ownerReferences}")).To(BeEmpty())
		deleteExtension(ctx)
		mustBeUntouched(ctx)
	})

	It("installs the operator again, which adopts the caches as they are", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		apply(ctx, candidate())
		untilInstalled(ctx, nextVersion)
		mustBeUntouched(ctx)

		By("scaling one, which proves that it is served")
		before := mc.DeepCopy()
		mc.Spec.Size = 4
		Expect(k8s.Patch(ctx, mc, client.MergeFrom(before))).To(Succeed())
		untilReady(ctx, mc)
		Expect(mc.Status.Nodes).To(HaveLen(4))
	})

	It("removes everything", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		deleteExtension(ctx)
		kubectl(ctx, "delete", definition, "--timeout=1m")
		Eventually(ctx, remains).Should(BeEmpty())
		Eventually(ctx, restarts).WithArguments(mc).Should(BeEmpty(), "pods of the cache")
	})
})

var _ = Describe("An administrator whose cluster has the definition from elsewhere", func() {
	It("hands it over to OLM v1 with its caches", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		kubectl(ctx, "apply", "--server-side", "--filename", "config/crd/bases")
		kubectl(ctx, "wait", definition, "--for=condition=Established", "--timeout=1m")
		mc := createMemcached(ctx, newNamespace(ctx), 1)
		apply(ctx, documented("ClusterExtension"))
		Eventually(ctx, progress).WithArguments(extension).Should(HaveSuffix(
			"CustomResourceDefinition 'memcacheds.cache.example.com' already exists in namespace '' and cannot be managed by operator-controller"))

		kubectl(ctx, "label", definition, "app.kubernetes.io/managed-by=Helm")
		kubectl(ctx, "annotate", definition, "meta.helm.sh/release-name="+packageName, "meta.helm.sh/release-namespace="+operatorNamespace)
		untilInstalled(ctx, version)
		untilReady(ctx, mc)
		cache := newClient(ctx, mc)
		Expect(cache.Write(ctx, keys, 100)).To(Succeed())
		Expect(cache.Read(ctx, keys)).To(Equal(all))
	})
})

// previousVersion returns the version of hack/olm/previous.
func previousVersion() string {
	GinkgoHelper()
	for line := range strings.Lines(read("hack/olm/previous")) {
		if version, _, ok := strings.Cut(line, " "); ok && version != "#" {
			return version
		}
	}
	Fail("hack/olm/previous has no line with a version and a commit")
	return ""
}

// release gives the catalog another image, as the publisher of a new version does.
func release(ctx context.Context, version string) {
	GinkgoHelper()
	image := kubectl(ctx, "get", catalog, "--output=jsonpath={.spec.source.image.ref}")
	image = image[:strings.LastIndexByte(image, ':')] + ":v" + version
	kubectl(ctx, "patch", catalog, "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"source":{"image":{"ref":%q}}}}`, image))
}

// operatorPod returns the name of the one pod of the operator that is not about to go.
func operatorPod(ctx context.Context) string {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(operatorNamespace))).To(Succeed())
	var names []string
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	Expect(names).To(HaveLen(1))
	return names[0]
}
