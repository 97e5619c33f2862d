// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// longestUpdate is how long a node may be unreachable while its cluster node pulls another image and restarts the container.
const longestUpdate = 3*time.Second + busyMachine/10

// eachKeys is how many keys a cache of three nodes holds: filledKeys for each node, on average.
const eachKeys = 3 * filledKeys

// The cache is a StatefulSet of three nodes, which a client uses. allowInPlace permits the operator to change the pods.
var _ = Describe("A change of the pods in place", Label(onLocalCluster), func() {
	It("keeps keys with a new image of memcached, and with one that does not exist, also after an upgrade of the operator", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c := newKeptCacheOf(ctx, 3, eachKeys, 100, inFile, inPlace)
		allowInPlace(ctx, c.mc.Namespace)

		former := c.pods[0].Spec.InitContainers[1].Image
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		deploy(ctx, upgradedImage)
		k8s.UntilCondition(ctx, c.mc, "Progressing", HaveField("Message", ContainSubstring("3 of 3 nodes run an older helper")))
		c.mustKeep(ctx, "image", longestUpdate, 1, c.image("-alpine"))
		for _, pod := range k8s.Pods(ctx, c.mc) {
			Expect(pod.Spec.Containers[0].Image).To(HaveSuffix("-alpine"))
			Expect(pod.Spec.InitContainers[1].Image).To(Equal(former), "a new agent comes with the next pod")
			Expect(pod.Status.InitContainerStatuses[1].RestartCount).To(BeZero())
		}

		By("a tag that does not exist")
		before := k8s.Incarnations(ctx, c.mc)
		k8s.Change(ctx, c.mc, func() { c.image("-none")(c.mc) })
		k8s.UntilReason(ctx, c.mc, "Degraded", "ImagePullFailed")
		k8s.UntilCondition(ctx, c.mc, "Degraded", HaveField("Message", ContainSubstring("Pod cache-2 was not changed in place")))
		Eventually(ctx, func() []corev1.Pod { return k8s.Pods(ctx, c.mc) }).WithTimeout(time.Minute).Should(HaveEach(
			Satisfy(func(pod corev1.Pod) bool { return clustertest.Ready(&pod) })))
		after := k8s.Incarnations(ctx, c.mc)
		Expect(after).To(HaveKeyWithValue("cache-0", before["cache-0"]))
		Expect(after).To(HaveKeyWithValue("cache-1", before["cache-1"]))
		Expect(after["cache-2"].Pod).To(Equal(before["cache-2"].Pod))
		clustertest.MustFind(ctx, k8s.NewClient(ctx, c.mc), eachKeys)

		By("a change of mind")
		c.mustKeep(ctx, "the image before", longestUpdate, 0, c.image("-alpine"))
		c.mustKeep(ctx, "the first image", longestUpdate, 1, c.image(""))
	})

	It("gives nodes more memory without a limit in the spec, and they serve all the time", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c := newKeptCacheOf(ctx, 3, eachKeys, 100, inPlace)
		allowInPlace(ctx, c.mc.Namespace)
		c.mustKeep(ctx, "memory 64Mi to 256Mi, the limit computed", 0, 0, memory("256Mi"))
		for _, pod := range k8s.Pods(ctx, c.mc) {
			stats := clustertest.Must(k8s.ConnectTo(ctx, traffic.Address(&pod)).Stats(ctx))
			Expect(stats["limit_maxbytes"]).To(Equal(fmt.Sprint(256 << 20)))
			Expect(pod.Status.ContainerStatuses[0].Resources.Limits.Memory().Value()).To(BeNumerically(">", 256<<20))
		}
		k8s.Change(ctx, c.mc, func() { memory("128Mi")(c.mc) })
		k8s.UntilReady(ctx, c.mc)
		for _, pod := range k8s.Pods(ctx, c.mc) {
			Expect(pod.Spec.Containers[0].Resources.Limits.Memory().Value()).To(BeNumerically("<", 300<<20))
		}
		Expect(k8s.Incarnations(ctx, c.mc)).To(Equal(clustertest.Incarnations(c.pods)))
	})
})

func inPlace(mc *cachev1alpha1.Memcached) {
	mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

func memory(quantity string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Memory = ptr.To(resource.MustParse(quantity)) }
}

// memoryLimit sets a memory limit, so that the operator does not compute it.
func memoryLimit(quantity string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	}
}

// image returns a change that sets spec.image to the image that the cache had at first, with this suffix after its tag.
func (c *keptCache) image(suffix string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = c.pods[0].Spec.Containers[0].Image + suffix }
}

// allowInPlace permits the operator to change the pods of a namespace in place. It runs the commands that the status of a Memcached names
// when this permission is missing.
func allowInPlace(ctx context.Context, namespace string) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "create", "role", "memcached-operator-in-place", "-n", namespace, "--verb=patch", "--resource=pods,pods/resize")
	k8s.Kubectl(ctx, "create", "rolebinding", "memcached-operator-in-place", "-n", namespace, "--role=memcached-operator-in-place",
		"--serviceaccount="+operatorNamespace+":"+operatorDeployment)
}
