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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// A cache is filled, something changes, and the hit ratio shows what is left. The client hashes consistently (ketama) by the
// names in status.nodes and writes nothing in between. It must find exactly the keys that were written to a process that still
// runs and still owns them. The bounds are those of rings whose nodes have random names.
var _ = Describe("A filled cache", Ordered, func() {
	var cache *filledCache
	BeforeAll(func(ctx SpecContext) {
		cache = &filledCache{
			mc:   k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3),
			rows: [][]string{{"change", "hits before", "hits after", "pods gone", "pods new", "restarts"}},
		}
	}, NodeTimeout(2*time.Minute))
	AfterAll(func() { clustertest.AddTable("What survives", cache.rows) })

	It("survives what happens to the operator", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		cache.keepsAll(ctx, "the operator is restarted", func() {
			replaceOperator(ctx)
			cache.untilOperatorReconciles(ctx)
		})
		if upgradedImage != "" {
			cache.keepsAll(ctx, "the operator is upgraded", func() {
				deploy(ctx, upgradedImage)
				cache.untilOperatorReconciles(ctx)
			})
		}
		cache.keepsAll(ctx, "the operator has a newer default image", func() {
			k8s.Kubectl(ctx, "--namespace", operatorNamespace, "set", "env", "deployment/"+operatorDeployment,
				"RELATED_IMAGE_MEMCACHED=docker.io/library/memcached:1.6.999")
			cache.untilReason(ctx, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonNewerDefaultsAvailable)
			cache.untilOperatorReconciles(ctx)
		})
		cache.keepsAll(ctx, "the operator is the first one again", func() {
			deploy(ctx, operatorImage)
			cache.untilOperatorReconciles(ctx)
			cache.untilReason(ctx, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonComplete)
		})
	})

	It("survives changes that need no other pods", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		cache.keepsAllAfter(ctx, "labels and annotations of the Service", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Service.Labels = map[string]cachev1alpha1.LabelValue{"team": "shop"}
			mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/owner": "shop"}
		})
		cache.keepsAllAfter(ctx, "podDisruptionBudget.maxUnavailable: 2", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodDisruptionBudget.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		})
		cache.keepsAllAfter(ctx, "podDisruptionBudget.enabled: false", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false)
		})
		cache.keepsAllAfter(ctx, "updateStrategy.maxUnavailable: 2", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		})
		cache.keepsAllAfter(ctx, "none of these any more", func(mc *cachev1alpha1.Memcached) {
			mc.Spec = cachev1alpha1.MemcachedSpec{Size: 3}
		})
	})

	It("survives a change that a pause holds back until it is taken back", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		cache.keepsAll(ctx, "paused, then config.verbosity: 1 and back", func() {
			mc := cache.mc
			k8s.Change(ctx, mc, func() {
				mc.Annotations = map[string]string{cachev1alpha1.PausedAnnotation: "true"}
				mc.Spec.Config.Verbosity = 1
			})
			cache.untilReason(ctx, cachev1alpha1.ConditionReady, cachev1alpha1.ReasonPaused)
			k8s.Change(ctx, mc, func() {
				delete(mc.Annotations, cachev1alpha1.PausedAnnotation)
				mc.Spec.Config.Verbosity = 0
			})
		})
	})

	It("survives that somebody deletes what is around the nodes", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		cache.keepsAll(ctx, "Service and PodDisruptionBudget are deleted", func() {
			of := metav1.ObjectMeta{Namespace: cache.mc.Namespace, Name: cache.mc.Name}
			for _, object := range []client.Object{&corev1.Service{ObjectMeta: of}, &policyv1.PodDisruptionBudget{ObjectMeta: of}} {
				Expect(k8s.Delete(ctx, object)).To(Succeed())
				Eventually(ctx, k8s.Reread).WithArguments(object).Should(Succeed())
			}
		})
	})

	It("survives its Memcached, if that is deleted with --cascade=orphan and created again", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		cache.keepsAll(ctx, "the Memcached is deleted with --cascade=orphan", func() {
			k8s.Kubectl(ctx, "--namespace", cache.mc.Namespace, "delete", "memcached", cache.mc.Name, "--cascade=orphan")
			spec := cache.mc.Spec
			cache.mc = k8s.CreateMemcached(ctx, cache.mc.Namespace, spec.Size, func(mc *cachev1alpha1.Memcached) { mc.Spec = spec })
		})
	})

	It("keeps about three quarters when a fourth node comes or goes", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		cache.keeps(ctx, "size 3 to 4", 0.65, 0.85, func() { scale(ctx, cache.mc, 4) })
		cache.keeps(ctx, "size 4 to 3", 0.65, 0.85, func() { scale(ctx, cache.mc, 3) })
	})

	It("keeps about two thirds when one memcached of three restarts: its pod stays", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		victim := k8s.Pods(ctx, cache.mc)[0]
		address := traffic.Address(&victim)
		cache.keeps(ctx, "one memcached ends", 0.55, 0.78, func() {
			// The command may end with the container that it ends.
			_, _ = k8s.TryKubectl(ctx, "--namespace", victim.Namespace, "exec", victim.Name, "--", "sh", "-c", "kill 1")
			Eventually(ctx, func(g Gomega) {
				g.Expect(k8s.Reread(ctx, &victim)).To(Succeed())
				g.Expect(clustertest.Restarts(&victim)).To(BeEquivalentTo(1))
				g.Expect(victim.Status.ContainerStatuses[0].Ready).To(BeTrue())
			}).Should(Succeed())
		})
		Expect(traffic.Address(&victim)).To(Equal(address))
	})

	It("keeps about half when one pod of three is replaced: the new one has a new name", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		cache.keeps(ctx, "one pod is deleted", 0.38, 0.62, func() {
			victim := k8s.Pods(ctx, cache.mc)[0]
			Expect(k8s.Delete(ctx, &victim)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(k8s.Reread(ctx, cache.mc)).To(Succeed())
				g.Expect(cache.mc.Status.Nodes).NotTo(ContainElement(victim.Name))
			}).Should(Succeed())
		})
	})

	It("is empty after a rolling change: every pod is replaced by one that starts empty", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		cache.keeps(ctx, "config.verbosity: 1", 0, 0, func() { roll(ctx, cache.mc) })
	})
})

// keepsAllAfter edits the Memcached in a way that must not touch any node.
func (c *filledCache) keepsAllAfter(ctx context.Context, title string, edit func(*cachev1alpha1.Memcached)) {
	GinkgoHelper()
	c.keepsAll(ctx, title, func() { k8s.Change(ctx, c.mc, func() { edit(c.mc) }) })
}

// untilOperatorReconciles waits until only the new operator is left and has followed a change. Without a change, it would write
// nothing that proves a reconcile.
func (c *filledCache) untilOperatorReconciles(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := operatorPods(ctx, g)
		g.Expect(pods).To(HaveLen(1))
		g.Expect(pods[0].DeletionTimestamp).To(BeNil())
	}).Should(Succeed())
	k8s.Change(ctx, c.mc, func() {
		generation := cachev1alpha1.AnnotationValue(fmt.Sprint(c.mc.Generation))
		c.mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/generation": generation}
	})
	k8s.UntilReady(ctx, c.mc)
}
