// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// losses are events after which nodes lose their items, as docs/concepts/changes.md says. The function do gets the pod of the last
// node.
var losses = []struct {
	name string
	do   func(context.Context, *keptCache, *corev1.Pod)
	// replaced is how many pods are new afterwards. restarted is how many other pods have restarted.
	replaced, restarted int
}{
	{"memcached crashes", func(_ context.Context, _ *keptCache, pod *corev1.Pod) {
		memcachedOf(pod).signal(syscall.SIGSEGV)
	}, 0, 1},
	{"memcached is OOMKilled", func(ctx context.Context, _ *keptCache, pod *corev1.Pod) {
		_, err := tryExecute(ctx, pod, "sh", "-c", hundredShells)
		Expect(err).To(HaveOccurred())
		Eventually(ctx, k8s.Object(pod)).Should(HaveField("Status.ContainerStatuses",
			ContainElement(HaveField("LastTerminationState.Terminated", HaveValue(HaveField("Reason", "OOMKilled"))))))
	}, 0, 1},
	{"its cluster node is drained", func(ctx context.Context, _ *keptCache, pod *corev1.Pod) {
		drain := []string{
			"drain", pod.Spec.NodeName, "--ignore-daemonsets", "--timeout=1m", "--pod-selector=statefulset.kubernetes.io/pod-name=" + pod.Name,
		}
		DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "uncordon", pod.Spec.NodeName) })
		_, err := k8s.TryKubectl(ctx, drain...)
		Expect(err).To(MatchError(ContainSubstring("--delete-emptydir-data")), "said beforehand")
		k8s.Kubectl(ctx, append(drain, "--delete-emptydir-data")...)
		k8s.Kubectl(ctx, "uncordon", pod.Spec.NodeName)
	}, 1, 0},
	{"a new image, with Recreate", func(ctx context.Context, c *keptCache, _ *corev1.Pod) {
		k8s.Change(ctx, c.mc, func() {
			c.mc.Spec.Paused = true
			c.image("-alpine")(c.mc)
		})
		k8s.UntilCondition(ctx, c.mc, cachev1alpha1.ConditionProgressing, HaveField("Message",
			ContainSubstring("; the nodes will be replaced, without their items. To resume: "))) // the user is told beforehand
		k8s.Change(ctx, c.mc, func() { c.mc.Spec.Paused = false })
	}, 3, 0},
}

// hundredShells starts 100 shells of a little more than 5 MiB each. They are small because the kernel kills the
// largest process, which must be memcached.
const hundredShells = `
	one='text=0123456789; n=0; while [ $n -lt 19 ]; do text=$text$text; n=$((n+1)); done; kill -STOP $$'
	shells=0; while [ $shells -lt 100 ]; do sh -c "$one" & shells=$((shells+1)); done; wait`

var _ = Describe("A node with items in a file loses its share, and no other does, when", Label(onLocalCluster), func() {
	It("memcached ends by itself or its pod does", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile, leavesQuickly)
		c.rows = [][]string{{"what", "keys", "new pods", "restarts", "Ready after"}}
		for _, loss := range losses {
			By(loss.name)
			Expect(c.cache.Write(ctx, c.keys, 100)).To(Succeed())
			before, began := c.snapshot(ctx), time.Now()
			loss.do(ctx, c, &k8s.Pods(ctx, c.mc)[2])
			Eventually(ctx, func(g Gomega) {
				replaced, restarted := before.lost(snapshot{incarnations: k8s.Incarnations(ctx, c.mc)})
				g.Expect([]int{replaced, restarted}).To(Equal([]int{loss.replaced, loss.restarted}), "new pods and restarts")
				g.Expect(k8s.Pods(ctx, c.mc)).To(HaveEach(Satisfy(func(pod corev1.Pod) bool { return clustertest.Ready(&pod) })))
			}).Should(Succeed())
			k8s.UntilReady(ctx, c.mc)
			took := time.Since(began)
			c.rows = append(c.rows, []string{
				loss.name, c.mustKeepOthers(ctx, before), fmt.Sprint(loss.replaced), fmt.Sprint(loss.restarted),
				took.Round(time.Second).String(),
			})
		}
	})
})
