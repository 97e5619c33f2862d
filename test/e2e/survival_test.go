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
	corev1 "k8s.io/api/core/v1"
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

// Each spec makes sure that the caches hold all keys, changes something, and reads all keys again. The client chooses servers by the
// ketama hash of their names. The number of hits must be exactly the number of keys whose owner is still the same process. The share
// of hits must also be in a range. For a Deployment, the range is wide, because new pods have random names. For a StatefulSet, it is
// narrow, because pods keep their names.
var _ = Describe("A filled cache", Ordered, func() {
	var f *filledCaches
	BeforeAll(func(ctx SpecContext) { f = newFilledCaches(ctx) }, NodeTimeout(2*time.Minute))
	AfterAll(func() { clustertest.AddTable("What survives", f.rows) })

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
			f.untilProgressing(ctx, cachev1alpha1.ReasonNewerDefaultsAvailable)
			f.untilOperatorReconciles(ctx)
		})
		f.keepAll(ctx, "the operator is the first one again", func() {
			deploy(ctx, operatorImage)
			f.untilOperatorReconciles(ctx)
			f.untilProgressing(ctx, cachev1alpha1.ReasonComplete)
		})
	})

	It("survives make undeploy, and make deploy adopts it", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		listed := func(words string) types.GomegaMatcher { // the output may list Memcacheds of other specs
			var lines []types.GomegaMatcher
			for _, c := range f.caches {
				lines = append(lines, MatchRegexp(words+`(?s).*`+c.mc.Namespace+"/"+c.mc.Name+" +3 nodes\n"))
			}
			return And(lines...)
		}
		f.keepAll(ctx, "make undeploy, then make deploy", func() {
			children := f.children(ctx)
			Expect(k8s.Make(ctx, "undeploy")).To(listed("The CRD and [0-9]+ Memcacheds? with [0-9]+ nodes(, and [0-9]+ MemcachedProx[a-z]+)? stay"))
			err := k8s.Get(ctx, client.ObjectKey{Name: operatorNamespace}, &corev1.Namespace{})
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
			Expect(f.children(ctx)).To(Equal(children))
			for _, c := range f.caches {
				clustertest.MustFind(ctx, k8s.NewClient(ctx, c.mc), filledKeys)
			}

			Expect(deploy(ctx, operatorImage)).To(listed("It manages [0-9]+ Memcacheds? with [0-9]+ nodes"))
			f.untilOperatorReconciles(ctx)
		})
		_, err := k8s.Try(ctx, "make", "undeploy-all")
		Expect(err).To(MatchError(listed("this deletes:")))
		Expect(err).To(MatchError(ContainSubstring("Nothing is deleted.")))
	})

	It("survives changes that need no other pods", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		f.keepAllAfter(ctx, "labels and annotations of the Service", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Service.Labels = map[string]cachev1alpha1.LabelValue{"team": "shop"}
			mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/owner": "shop"}
		})
		f.keepAllAfter(ctx, "podDisruptionBudget.maxUnavailable: 2", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodDisruptionBudget.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		})
		f.keepAllAfter(ctx, "podDisruptionBudget.enabled: false", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false)
		})
		f.keepAllAfter(ctx, "updateStrategy.maxUnavailable: 2", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		})
		f.keepAll(ctx, "none of these any more", func() {
			for _, c := range f.caches {
				k8s.Change(ctx, c.mc, func() { c.spec.DeepCopyInto(&c.mc.Spec) })
			}
		})
	})

	It("survives a change that a pause holds back until it is taken back", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		f.keepAll(ctx, "paused, then config.flushAll: false and back", func() {
			f.change(ctx, func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused, mc.Spec.Config.FlushAll = true, ptr.To(false) })
			for _, c := range f.caches {
				k8s.UntilReason(ctx, c.mc, cachev1alpha1.ConditionReady, cachev1alpha1.ReasonPaused)
			}
			f.change(ctx, func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused, mc.Spec.Config.FlushAll = false, ptr.To(true) })
		})
	})

	It("survives that somebody deletes what is around the nodes", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		f.keepAll(ctx, "Service and PodDisruptionBudget are deleted", func() {
			for _, c := range f.caches {
				of := metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: c.mc.Name}
				for _, object := range []client.Object{&corev1.Service{ObjectMeta: of}, &policyv1.PodDisruptionBudget{ObjectMeta: of}} {
					Expect(k8s.Delete(ctx, object)).To(Succeed())
					Eventually(ctx, k8s.Reread).WithArguments(object).Should(Succeed())
				}
			}
		})
	})

	It("survives its Memcached, if that is deleted with --cascade=orphan and created again", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		f.keepAll(ctx, "the Memcached is deleted with --cascade=orphan", func() {
			for _, c := range f.caches {
				k8s.Kubectl(ctx, "--namespace", c.mc.Namespace, "delete", "memcached", c.mc.Name, "--cascade=orphan")
				spec := c.mc.Spec
				c.mc = k8s.CreateMemcached(ctx, c.mc.Namespace, spec.Size, clustertest.Named(c.mc.Name),
					func(mc *cachev1alpha1.Memcached) { mc.Spec = spec })
			}
		})
	})

	It("keeps about three quarters when a fourth node comes or goes", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		size := func(nodes int32) func() {
			return func() { f.change(ctx, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = nodes }) }
		}
		aQuarter := ratios{cachev1alpha1.WorkloadDeployment: {0.65, 0.85}, cachev1alpha1.WorkloadStatefulSet: {0.74, 0.78}}
		f.keep(ctx, "size 3 to 4", aQuarter, size(4))
		// A StatefulSet removes the newest node. A Deployment may remove any node.
		f.stillKeep(ctx, "size 3 to 4 and back to 3", ratios{
			cachev1alpha1.WorkloadDeployment: {0.35, 1}, cachev1alpha1.WorkloadStatefulSet: {1, 1},
		}, size(3))
		size(4)()
		f.untilReady(ctx)
		f.keep(ctx, "size 4 to 3", aQuarter, size(3))
	})

	It("keeps about two thirds when one memcached of three restarts: its pod stays", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		f.keep(ctx, "one memcached ends", ratios{
			cachev1alpha1.WorkloadDeployment: {0.55, 0.78}, cachev1alpha1.WorkloadStatefulSet: twoThirds,
		}, func() {
			for _, c := range f.caches {
				victim := k8s.Pods(ctx, c.mc)[0]
				// The command may fail, because it ends the container in which it runs.
				_, _ = k8s.TryKubectl(ctx, "--namespace", victim.Namespace, "exec", victim.Name, "--", "sh", "-c", "kill 1")
				now := victim.DeepCopy()
				Eventually(ctx, func(g Gomega) {
					g.Expect(k8s.Reread(ctx, now)).To(Succeed())
					g.Expect(clustertest.Restarts(now)).To(Equal(clustertest.Restarts(&victim) + 1))
					g.Expect(now.Status.ContainerStatuses[0].Ready).To(BeTrue())
				}).Should(Succeed())
				Expect(traffic.Address(now)).To(Equal(traffic.Address(&victim)))
			}
		})
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

	It("is emptied node by node by the command with which NewerDefaultsAvailable is adopted", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		By("giving the operator another name of the same image")
		name, ok := strings.CutPrefix(f.caches[0].mc.Status.Image, "docker.io/library/")
		Expect(ok).To(BeTrue(), f.caches[0].mc.Status.Image)
		k8s.Kubectl(ctx, "--namespace", operatorNamespace, "set", "env", "deployment/"+operatorDeployment, "RELATED_IMAGE_MEMCACHED="+name)
		f.untilProgressing(ctx, cachev1alpha1.ReasonNewerDefaultsAvailable)

		f.keep(ctx, "the command of the message, with a newer default image", ofBoth(0, 0), func() {
			for _, c := range f.caches {
				message := meta.FindStatusCondition(c.mc.Status.Conditions, cachev1alpha1.ConditionProgressing).Message
				_, command, _ := strings.Cut(message, "To roll out now: ")
				k8s.Run(ctx, "sh", "-c", command)
				Expect(k8s.Reread(ctx, c.mc)).To(Succeed())
				Expect(c.mc.Spec.RestartedAt != nil).To(Equal(c.mc.Spec.Workload == cachev1alpha1.WorkloadDeployment))
			}
		})
		f.untilProgressing(ctx, cachev1alpha1.ReasonComplete)
		for _, c := range f.caches {
			Expect(c.mc.Status.Image).To(Equal(name))
		}

		f.keepAll(ctx, "restartedAt is removed", func() {
			f.change(ctx, func(mc *cachev1alpha1.Memcached) { mc.Spec.RestartedAt = nil })
			f.untilOperatorReconciles(ctx)
		})
	})
})

func (f *filledCaches) keepAllAfter(ctx context.Context, title string, edit func(*cachev1alpha1.Memcached)) {
	GinkgoHelper()
	f.keepAll(ctx, title, func() { f.change(ctx, edit) })
}

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
