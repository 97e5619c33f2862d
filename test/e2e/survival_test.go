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
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A filled cache", func() {
	It("survives what happens to the operator", clustertest.Core, SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		f := newFilledCaches(ctx)
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		if upgradedImage != "" {
			f.keep(ctx, "the operator is upgraded", func() {
				deploy(ctx, upgradedImage)
				f.untilOperatorReconciles(ctx)
			})
		}
		f.keep(ctx, "the operator has a newer default image", func() {
			k8s.Kubectl(ctx, "--namespace", operatorNamespace, "set", "env", "deployment/"+operatorDeployment,
				"RELATED_IMAGE_MEMCACHED=docker.io/library/memcached:1.6.999")
			f.untilProgressing(ctx, cachev1alpha1.ReasonOutdated)
			f.untilOperatorReconciles(ctx)
		})
		f.keep(ctx, "make undeploy, then make deploy", func() {
			children := f.children(ctx)
			k8s.Make(ctx, "undeploy")
			Eventually(ctx, k8s.OperatorPods).WithArguments(operatorNamespace).Should(BeEmpty())
			Expect(f.children(ctx)).To(Equal(children))
			for _, mc := range f.caches {
				clustertest.MustFind(ctx, k8s.NewClient(ctx, mc), filledKeys)
			}
			deploy(ctx, operatorImage)
			f.untilOperatorReconciles(ctx)
			f.untilProgressing(ctx, cachev1alpha1.ReasonAsExpected)
		})
		_, err := k8s.Try(ctx, "make", "undeploy-all")
		Expect(err).To(MatchError(And(ContainSubstring("memcached.cache.example.com/"+f.caches[0].Name), ContainSubstring("Nothing is deleted."))))
	})
})

// filledKeys is how many keys a filled cache holds. They take a small part of the memory, so that nothing is evicted.
const filledKeys = 20_000

var workloads = []cachev1alpha1.WorkloadKind{cachev1alpha1.WorkloadDeployment, cachev1alpha1.WorkloadStatefulSet}

// leavesQuickly makes deleted nodes end sooner, for specs in which no client has to notice the deletion.
func leavesQuickly(mc *cachev1alpha1.Memcached) {
	mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](1)
}

// filledCaches are caches of three nodes with keys, one for each Kind of workload. No change may touch a node.
type filledCaches struct {
	caches       []*cachev1alpha1.Memcached
	incarnations []map[string]clustertest.Incarnation
}

func newFilledCaches(ctx context.Context) *filledCaches {
	GinkgoHelper()
	namespace := k8s.NewNamespace(ctx)
	f := &filledCaches{}
	for _, workload := range workloads {
		f.caches = append(f.caches, k8s.CreateMemcached(ctx, namespace, 3, clustertest.RunBy(workload),
			clustertest.Named(strings.ToLower(string(workload)))))
	}
	f.untilReady(ctx)
	for _, mc := range f.caches {
		clustertest.MustStore(ctx, k8s.NewClient(ctx, mc), filledKeys)
		f.incarnations = append(f.incarnations, k8s.Incarnations(ctx, mc))
	}
	return f
}

func (f *filledCaches) untilReady(ctx context.Context) {
	GinkgoHelper()
	for _, mc := range f.caches {
		k8s.UntilReady(ctx, mc)
	}
}

// keep makes a change, and fails unless clients find all keys in the same processes.
func (f *filledCaches) keep(ctx context.Context, title string, change func()) {
	GinkgoHelper()
	By(title)
	change()
	f.untilReady(ctx)
	for i, mc := range f.caches {
		clustertest.MustFind(ctx, k8s.NewClient(ctx, mc), filledKeys)
		Expect(k8s.Incarnations(ctx, mc)).To(Equal(f.incarnations[i]), "%s: pods and restarts of %s", title, mc.Name)
	}
}

func (f *filledCaches) untilProgressing(ctx context.Context, reason string) {
	GinkgoHelper()
	for _, mc := range f.caches {
		k8s.UntilReason(ctx, mc, cachev1alpha1.ConditionProgressing, reason)
	}
}

func (f *filledCaches) children(ctx context.Context) []child {
	GinkgoHelper()
	var all []child
	for _, mc := range f.caches {
		all = append(all, childrenOf(ctx, mc)...)
	}
	return all
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
	for _, mc := range f.caches {
		generation := cachev1alpha1.AnnotationValue(fmt.Sprint(mc.Generation))
		k8s.Change(ctx, mc, func() {
			mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/generation": generation}
		})
	}
	f.untilReady(ctx)
}
