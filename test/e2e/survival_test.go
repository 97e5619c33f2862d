// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
			k8s.UntilReason(ctx, cache.mc, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonNewerDefaultsAvailable)
			cache.untilOperatorReconciles(ctx)
		})
		cache.keepsAll(ctx, "the operator is the first one again", func() {
			deploy(ctx, operatorImage)
			cache.untilOperatorReconciles(ctx)
			k8s.UntilReason(ctx, cache.mc, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonComplete)
		})
	})

	It("survives make undeploy, and make deploy adopts it", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		listed := func(words string) types.GomegaMatcher { // there may be Memcacheds of other specs
			return MatchRegexp(words + `(?s).*` + cache.mc.Namespace + "/" + cache.mc.Name + " +3 nodes\n")
		}
		cache.keepsAll(ctx, "make undeploy, then make deploy", func() {
			children := childrenOf(ctx, cache.mc)
			Expect(k8s.Make(ctx, "undeploy")).To(listed("The CRD and [0-9]+ Memcacheds? with [0-9]+ nodes stay"))
			err := k8s.Get(ctx, client.ObjectKey{Name: operatorNamespace}, &corev1.Namespace{})
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
			Expect(childrenOf(ctx, cache.mc)).To(Equal(children))
			clustertest.MustFind(ctx, k8s.NewClient(ctx, cache.mc), filledKeys)

			Expect(deploy(ctx, operatorImage)).To(listed("It manages [0-9]+ Memcacheds? with [0-9]+ nodes"))
			cache.untilOperatorReconciles(ctx)
		})
		_, err := k8s.Try(ctx, "make", "undeploy-all")
		Expect(err).To(MatchError(listed("this deletes:")))
		Expect(err).To(MatchError(ContainSubstring("Nothing is deleted.")))
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
				mc.Spec.Paused, mc.Spec.Config.Verbosity = true, 1
			})
			k8s.UntilReason(ctx, cache.mc, cachev1alpha1.ConditionReady, cachev1alpha1.ReasonPaused)
			k8s.Change(ctx, mc, func() {
				mc.Spec.Paused, mc.Spec.Config.Verbosity = false, 0
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
			Eventually(ctx, k8s.Object(cache.mc)).Should(HaveField("Status.Nodes", Not(ContainElement(victim.Name))))
		})
	})

	It("is empty after a rolling change: every pod is replaced by one that starts empty", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		cache.keeps(ctx, "config.verbosity: 1", 0, 0, func() { roll(ctx, cache.mc) })
	})

	It("is emptied node by node by the command with which NewerDefaultsAvailable is adopted", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		By("giving the operator another name of the same image")
		name, ok := strings.CutPrefix(cache.mc.Status.Image, "docker.io/library/")
		Expect(ok).To(BeTrue(), cache.mc.Status.Image)
		k8s.Kubectl(ctx, "--namespace", operatorNamespace, "set", "env", "deployment/"+operatorDeployment, "RELATED_IMAGE_MEMCACHED="+name)
		k8s.UntilReason(ctx, cache.mc, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonNewerDefaultsAvailable)

		_, after := cache.keeps(ctx, "restartedAt, with a newer default image", 0, 0, func() {
			message := meta.FindStatusCondition(cache.mc.Status.Conditions, cachev1alpha1.ConditionProgressing).Message
			_, command, _ := strings.Cut(message, "To roll out now: ")
			k8s.Run(ctx, "sh", "-c", command)
			Expect(k8s.Reread(ctx, cache.mc)).To(Succeed())
			Expect(cache.mc.Spec.RestartedAt).NotTo(BeNil())
		})
		Expect(cache.mc.Status.Image).To(Equal(name))
		k8s.UntilReason(ctx, cache.mc, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonComplete)

		By("removing the field, which replaces nothing")
		k8s.Change(ctx, cache.mc, func() { cache.mc.Spec.RestartedAt = nil })
		cache.untilOperatorReconciles(ctx)
		Expect(cache.snapshot(ctx).incarnations).To(Equal(after.incarnations))
	})
})

// The operator needs some permissions only for this: see permissions_test.go.
var _ = Describe("Drift", func() {
	const managedBy = "app.kubernetes.io/managed-by"

	It("labels that are removed come back", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		before, pods := childrenOf(ctx, mc), k8s.Incarnations(ctx, mc)
		for i, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), object)).To(Succeed())
			k8s.Change(ctx, object, func() { delete(object.GetLabels(), managedBy) })
			Eventually(ctx, k8s.Object(object)).Should(HaveField("Labels", HaveKeyWithValue(managedBy, "memcached-operator")))
			Expect(string(object.GetUID())).To(Equal(before[i].uid))
		}
		Expect(k8s.Incarnations(ctx, mc)).To(Equal(pods), "no pod is replaced or restarted")
	})

	It("a NetworkPolicy stays as the spec says, and is deleted when it is not wanted any more", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy.Enabled = ptr.To(true)
		})
		policy := &networkingv1.NetworkPolicy{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), policy)).To(Succeed())
		k8s.Change(ctx, policy, func() { policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{}) })
		Eventually(ctx, k8s.Object(policy)).Should(HaveField("Spec.Ingress", HaveLen(1)))
		k8s.Change(ctx, policy, func() { delete(policy.Labels, managedBy) })
		Eventually(ctx, k8s.Object(policy)).Should(HaveField("Labels", HaveKeyWithValue(managedBy, "memcached-operator")))
		k8s.Change(ctx, mc, func() { mc.Spec.NetworkPolicy.Enabled = ptr.To(false) })
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(mc), &networkingv1.NetworkPolicy{}))
		}).Should(BeTrue())
	})

	It("a budget that is not wanted any more is deleted", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		k8s.Change(ctx, mc, func() { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(mc), &policyv1.PodDisruptionBudget{}))
		}).Should(BeTrue())
	})
})

var _ = Describe("A memcached that exits", func() {
	It("is started again in the same pod, empty", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		pod := k8s.Pods(ctx, mc)[0]
		Expect(k8s.NewClient(ctx, mc).Write(ctx, 10, 100)).To(Succeed())

		ended := time.Now()
		execute(ctx, &pod, "sh", "-c", "kill 1")

		By("serving again at the same address")
		Eventually(ctx, func(g Gomega) {
			now := k8s.Pods(ctx, mc)
			g.Expect(now).To(HaveLen(1))
			g.Expect(now[0].UID).To(Equal(pod.UID))
			g.Expect(clustertest.Restarts(&now[0])).To(BeEquivalentTo(1))
			g.Expect(connectAndAsk(ctx, traffic.Address(&pod))).To(Succeed())
		}).Should(Succeed())
		AddReportEntry("An exited memcached", "served again after "+seconds(time.Since(ended)), ReportEntryVisibilityAlways)
		k8s.UntilReady(ctx, mc)

		By("without what it held, as any restart")
		cache := k8s.NewClient(ctx, mc)
		Expect(cache.Read(ctx, 10)).To(Equal(traffic.Hits{Keys: 10}))
		clustertest.MustStore(ctx, cache, 10)
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
