// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// All caches are on one cluster node. Their new pods cannot start anywhere until kubectl uncordon, as if the cluster were full.
var _ = Describe("A drain of a cluster node", func() {
	It("takes of each cache what its budget allows, waits for room, and ends", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		s := newDrainedNode(ctx)
		usual := s.add(ctx, "usual", 3)
		s.add(ctx, "single", 1)
		stable := s.add(ctx, "stable", 3, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet))
		for _, c := range s.caches {
			k8s.UntilReady(ctx, c.mc)
		}
		s.begin(ctx)

		drain := s.drain(ctx)

		By("taking one node of three, and a single node")
		left := map[string]int{"usual": 2, "stable": 2, "single": 0}
		Eventually(ctx, func() map[string]int { return s.left(ctx) }).Should(Equal(left))

		By("then waiting: nodes that would be missed are refused, whenever the drain tries again")
		for _, pod := range slices.Concat(s.leftOf(ctx, usual), s.leftOf(ctx, stable)) {
			Eventually(ctx, func() int { return s.refusalsOf(drain, pod) }).Should(BeNumerically(">=", 2))
		}
		Expect(s.left(ctx)).To(Equal(left))
		Expect(drain).NotTo(gexec.Exit())

		By("going on by itself, node by node, as soon as there is room")
		k8s.Kubectl(ctx, "uncordon", s.node)
		Eventually(ctx, drain).Should(gexec.Exit(0))
		Expect(drain.Out).To(gbytes.Say("node/%s drained", s.node))
		Expect(s.left(ctx)).To(Equal(map[string]int{"usual": 0, "stable": 0, "single": 0}))

		By("leaving every cache as it was, with other pods")
		for _, healthy := range s.caches {
			k8s.UntilReady(ctx, healthy.mc)
		}
		for _, c := range []*drainedCache{usual, stable} {
			Expect(c.readiness.fewest()).To(Equal(2), "of 3 nodes of %s, the least that were ready", c.mc.Name)
		}
	})
})

// drainedNode is a cluster node, and the caches on it with the pods that they had before the drain.
type drainedNode struct {
	node, namespace string
	caches          []*drainedCache
}

type drainedCache struct {
	mc        *cachev1alpha1.Memcached
	readiness *readiness
	originals map[types.UID]string
}

// drainLabel marks the pods that the test drains. All other pods stay on the cluster node.
const drainLabel = "drained-by"

// newDrainedNode picks the operator's cluster node, because pods can run there. After the spec, the cluster node is schedulable again.
func newDrainedNode(ctx context.Context) *drainedNode {
	GinkgoHelper()
	pods := operatorPods(ctx, Default)
	Expect(pods).NotTo(BeEmpty())
	s := &drainedNode{node: pods[0].Spec.NodeName, namespace: k8s.NewNamespace(ctx)}
	DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "uncordon", s.node) })
	return s
}

// add creates a cache on the cluster node, and does not wait until the cache is Ready.
func (s *drainedNode) add(ctx context.Context, name string, size int32, edits ...clustertest.Edit) *drainedCache {
	GinkgoHelper()
	var node corev1.Node
	Expect(k8s.Get(ctx, client.ObjectKey{Name: s.node}, &node)).To(Succeed())
	mc := k8s.CreateMemcached(ctx, s.namespace, size, append(edits, func(mc *cachev1alpha1.Memcached) {
		mc.Name = name
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{drainLabel: cachev1alpha1.LabelValue(s.namespace)}
		mc.Spec.Scheduling.NodeSelector = map[string]string{corev1.LabelHostname: node.Labels[corev1.LabelHostname]}
		// Each evicted node waits for this delay, so a long delay makes the drain slow.
		mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](1)
	})...)
	s.caches = append(s.caches, &drainedCache{mc: mc})
	return s.caches[len(s.caches)-1]
}

// begin records the pods of each cache, and waits until each budget allows one eviction.
func (s *drainedNode) begin(ctx context.Context) {
	GinkgoHelper()
	for _, c := range s.caches {
		c.originals, c.readiness = map[types.UID]string{}, followReadiness(ctx, c.mc)
		for _, pod := range k8s.Pods(ctx, c.mc) {
			c.originals[pod.UID] = pod.Name
		}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: c.mc.Name}}
		Eventually(ctx, k8s.Object(budget)).Should(HaveField("Status",
			And(HaveField("ExpectedPods", c.mc.Spec.Size), HaveField("DisruptionsAllowed", int32(1)))), c.mc.Name)
	}
}

// drain starts kubectl drain as an administrator does, but only for the pods of the caches. The command ends with the spec.
func (s *drainedNode) drain(ctx context.Context) *gexec.Session {
	GinkgoHelper()
	args := []string{"drain", s.node, "--pod-selector", drainLabel + "=" + s.namespace, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=3m"}
	fmt.Fprintln(GinkgoWriter, "$ kubectl", strings.Join(args, " "))
	drain := clustertest.Must(gexec.Start(exec.CommandContext(ctx, "kubectl", args...), GinkgoWriter, GinkgoWriter))
	DeferCleanup(func(ctx SpecContext) { Eventually(ctx, drain.Kill()).Should(gexec.Exit()) })
	return drain
}

func (s *drainedNode) refusalsOf(drain *gexec.Session, pod string) int {
	return strings.Count(string(drain.Err.Contents()), fmt.Sprintf(
		"error when evicting pods/%q -n %q (will retry after 5s): Cannot evict pod as it would violate the pod's disruption budget.",
		pod, s.namespace))
}

func (s *drainedNode) left(ctx context.Context) map[string]int {
	GinkgoHelper()
	left := map[string]int{}
	for _, cache := range s.caches {
		left[cache.mc.Name] = len(s.leftOf(ctx, cache))
	}
	return left
}

// leftOf returns the names of the pods of a cache that existed before the drain and are not terminating.
func (*drainedNode) leftOf(ctx context.Context, cache *drainedCache) []string {
	GinkgoHelper()
	var left []string
	for _, pod := range k8s.Pods(ctx, cache.mc) {
		if name, ok := cache.originals[pod.UID]; ok {
			left = append(left, name)
		}
	}
	return left
}
