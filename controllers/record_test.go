// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// newerDefaults are the options of an upgraded operator.
var newerDefaults = memcached.Options{DefaultImage: "memcached:1.6.46", AgentImage: "memcached-operator:2"}

var _ = Describe("A newer default image that waits for a change of the Memcached", func() {
	var (
		mc *cachev1alpha1.Memcached
		// first is the Deployment before its last rollout, and last is the Deployment after it.
		first, last *appsv1.Deployment
	)
	BeforeEach(func(ctx SpecContext) {
		o := newOperator(defaults)
		mc = converged(ctx, o, 3)
		first = live(ctx, mc, &appsv1.Deployment{})
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.Verbosity, mc.Spec.RestartedAt = 1, &metav1.Time{Time: o.clock.Now()}
		})
		Expect(o.try(ctx, mc, writeDeployment, writeStatus)).To(Succeed())
		rollOut(ctx, mc)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.RestartedAt = nil })
		o.step(ctx, mc, writeStatus)
		last = live(ctx, mc, &appsv1.Deployment{})
	})

	DescribeTable("still waits after somebody else has changed the Deployment",
		func(ctx SpecContext, edit func(*appsv1.Deployment), restarted bool) {
			upgraded := newOperator(newerDefaults)
			if !restarted {
				upgraded.step(ctx, mc, writeStatus)
				Expect(summary(ctx, mc, "Progressing")).To(Equal("False/NewerDefaultsAvailable"))
			}
			change(ctx, live(ctx, mc, &appsv1.Deployment{}), edit)
			Expect(upgraded.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			now := live(ctx, mc, &appsv1.Deployment{})
			Expect(now.Spec.Template).To(Equal(last.Spec.Template))
			Expect(now.Annotations).To(Equal(last.Annotations))
			Expect(upgraded.events()).To(ContainElement(HavePrefix("Warning Corrected Deployment cache was changed")))
			Expect(upgraded.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			upgraded.step(ctx, mc)
		},
		Entry("by kubectl rollout undo", func(d *appsv1.Deployment) { undo(d, first) }, false),
		Entry("by kubectl rollout undo while no operator ran", func(d *appsv1.Deployment) { undo(d, first) }, true),
		Entry("and its hash is lost", without("template-hash"), false),
		Entry("and its hash was lost while no operator ran", without("template-hash"), true),
		Entry("and its defaults are lost", without("pod-defaults"), false),
		Entry("and its defaults were lost while no operator ran", without("pod-defaults"), true),
		Entry("and all annotations were lost while no operator ran", without("template-hash", "pod-defaults", "applied-hash"), true),
	)

	It("still waits after the Deployment was deleted without its pods", func(ctx SpecContext) {
		upgraded := newOperator(newerDefaults)
		upgraded.step(ctx, mc, writeStatus)
		Expect(user.Delete(ctx, live(ctx, mc, &appsv1.Deployment{}), client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		removeFinalizers(ctx, live(ctx, mc, &appsv1.Deployment{}))
		Expect(upgraded.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Template).To(Equal(last.Spec.Template))
	})

	It("still waits after an operator of an earlier version, which records it in annotations only", func(ctx SpecContext) {
		earlier := live(ctx, mc, &cachev1alpha1.Memcached{})
		recorded := *earlier.Status.LastApplied
		earlier.Status.LastApplied = nil
		Expect(user.Status().Update(ctx, earlier)).To(Succeed())
		upgraded := newOperator(newerDefaults)
		upgraded.step(ctx, mc, writeStatus)
		upgraded.step(ctx, mc)
		Expect(live(ctx, mc, &appsv1.Deployment{})).To(Equal(last))
		Expect(status(ctx, mc).LastApplied).To(HaveValue(Equal(recorded)))
		Expect(upgraded.events()).To(ConsistOf(HavePrefix("Normal NewerDefaultsAvailable")))
	})

	It("is adopted by the next change of the Memcached", func(ctx SpecContext) {
		upgraded := newOperator(newerDefaults)
		upgraded.step(ctx, mc, writeStatus)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Verbosity = 0 })
		Expect(upgraded.try(ctx, mc, writeDeployment, writeStatus)).To(Succeed())
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image).To(Equal(newerDefaults.DefaultImage))
	})
})

// undo imitates "kubectl rollout undo", which restores the earlier template with the earlier annotations.
func undo(d, earlier *appsv1.Deployment) {
	d.Spec.Template, d.Annotations = earlier.Spec.Template, maps.Clone(earlier.Annotations)
}

func without(names ...string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		for _, name := range names {
			delete(d.Annotations, "cache.example.com/"+name)
		}
	}
}

// removeFinalizers removes all finalizers of an object, as the garbage collector finally does.
func removeFinalizers(ctx context.Context, object client.Object) {
	GinkgoHelper()
	object.SetFinalizers(nil)
	Expect(user.Update(ctx, object)).To(Succeed())
}
