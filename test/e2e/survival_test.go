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
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// Each spec makes sure that the caches hold all keys, changes something, and reads all keys again. The client chooses servers by the
// ketama hash of their names. The number of hits must be exactly the number of keys whose owner is still the same process. The share
// of hits must also be in a range. For a Deployment, the range is wide, because new pods have random names. For a StatefulSet, it is
// narrow, because pods keep their names.
var _ = Describe("A filled cache", Ordered, func() {
	var f *filledCaches
	BeforeAll(func(ctx SpecContext) { f = newFilledCaches(ctx) }, NodeTimeout(2*time.Minute))

	It("survives what happens to the operator", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		f.keepAll(ctx, "the operator is restarted", func() {
			replaceOperator(ctx)
			f.untilOperatorReconciles(ctx)
		})
		if upgradedImage != "" {
			f.keepAll(ctx, "the operator is upgraded", func() {
				deploy(ctx, upgradedImage)
				f.untilOperatorReconciles(ctx)
			})
		}
		f.keepAll(ctx, "the operator has a newer default image", func() {
			k8s.Kubectl(ctx, "--namespace", operatorNamespace, "set", "env", "deployment/"+operatorDeployment,
				"RELATED_IMAGE_MEMCACHED=docker.io/library/memcached:1.6.999")
			f.untilProgressing(ctx, cachev1alpha1.ReasonOutdated)
			f.untilOperatorReconciles(ctx)
		})
		f.keepAll(ctx, "the operator is the first one again", func() {
			deploy(ctx, operatorImage)
			f.untilOperatorReconciles(ctx)
			f.untilProgressing(ctx, cachev1alpha1.ReasonAsExpected)
		})
	})

	It("survives make undeploy, and make deploy adopts it", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		f.keepAll(ctx, "make undeploy, then make deploy", func() {
			children := f.children(ctx)
			k8s.Make(ctx, "undeploy")
			Eventually(ctx, k8s.OperatorPods).WithArguments(operatorNamespace).Should(BeEmpty())
			Expect(f.children(ctx)).To(Equal(children))
			for _, c := range f.caches {
				clustertest.MustFind(ctx, k8s.NewClient(ctx, c.mc), filledKeys)
			}

			deploy(ctx, operatorImage)
			f.untilOperatorReconciles(ctx)
		})
		_, err := k8s.Try(ctx, "make", "undeploy-all")
		Expect(err).To(MatchError(And(ContainSubstring("memcached.cache.example.com/"+f.caches[0].mc.Name), ContainSubstring("Nothing is deleted."))))
	})

	DescribeTable("keeps about two thirds when one pod of three is replaced under its name, and half under another",
		func(ctx SpecContext, how string, leave func(context.Context, *corev1.Pod) error) {
			f.keep(ctx, "one pod is "+how, ratios{
				cachev1alpha1.WorkloadDeployment: {0.38, 0.62}, cachev1alpha1.WorkloadStatefulSet: twoThirds,
			}, func() {
				for _, c := range f.caches {
					victim := k8s.Pods(ctx, c.mc)[0]
					Eventually(ctx, leave).WithArguments(&victim).Should(Succeed())
					c.untilReplaced(ctx, &victim)
				}
			})
		},
		Entry("deleted", SpecTimeout(2*time.Minute), "deleted", func(ctx context.Context, pod *corev1.Pod) error {
			return k8s.Delete(ctx, pod)
		}),
		Entry("evicted", SpecTimeout(2*time.Minute), "evicted", func(ctx context.Context, pod *corev1.Pod) error {
			return k8s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}})
		}),
	)

	It("is empty after a rolling change: every pod is replaced by one that starts empty", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		f.keep(ctx, "podMetadata.annotations", ofBoth(0, 0), func() { f.change(ctx, annotatePods) })
	})
})

func (f *filledCaches) untilProgressing(ctx context.Context, reason string) {
	GinkgoHelper()
	for _, c := range f.caches {
		k8s.UntilReason(ctx, c.mc, cachev1alpha1.ConditionProgressing, reason)
	}
}

func (f *filledCaches) children(ctx context.Context) []child {
	GinkgoHelper()
	var all []child
	for _, c := range f.caches {
		all = append(all, childrenOf(ctx, c.mc)...)
	}
	return all
}

// untilReplaced waits until the victim is deleted or terminating, all nodes are ready, and the status names them.
func (c *filledCache) untilReplaced(ctx context.Context, victim *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Reread(ctx, c.mc)).To(Succeed())
		pods := k8s.Pods(ctx, c.mc)
		g.Expect(pods).To(HaveLen(int(c.mc.Spec.Size)))
		for i := range pods {
			g.Expect(pods[i].UID).NotTo(Equal(victim.UID))
			g.Expect(clustertest.Ready(&pods[i])).To(BeTrue())
			g.Expect(c.mc.Status.Nodes).To(ContainElement(pods[i].Name))
		}
	}).Should(Succeed())
}

// untilOperatorReconciles waits until only the new operator exists and has carried out a change. Without a change,
// the operator would write nothing, so nobody could see that it reconciles.
func (f *filledCaches) untilOperatorReconciles(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := operatorPods(ctx, g)
		g.Expect(pods).To(HaveLen(1))
		g.Expect(pods[0].DeletionTimestamp).To(BeNil())
	}).Should(Succeed())
	f.change(ctx, func(mc *cachev1alpha1.Memcached) {
		generation := cachev1alpha1.AnnotationValue(fmt.Sprint(mc.Generation))
		mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/generation": generation}
	})
	f.untilReady(ctx)
}
