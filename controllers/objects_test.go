// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv/suite"
)

// newMemcached creates a Memcached in a new namespace.
func newMemcached(ctx context.Context, size int32, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.NewNamespace(ctx, user), Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, change := range changes {
		change(mc)
	}
	Expect(user.Create(ctx, mc)).To(Succeed())
	// The manager of a later test would watch this Memcached too.
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(user.Delete(ctx, mc))).To(Succeed()) })
	return mc
}

func change[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	change(object)
	Expect(user.Patch(ctx, object, client.MergeFrom(before), client.FieldOwner("user"))).To(Succeed())
}

// live returns the object with the name of the Memcached or, of a Service, the one of its nodes.
func live[T client.Object](ctx context.Context, mc *cachev1alpha1.Memcached, object T) T {
	GinkgoHelper()
	if _, service := any(object).(*corev1.Service); service {
		return child(ctx, mc, object, memcached.NodesSuffix)
	}
	return child(ctx, mc, object, "")
}

func child[T client.Object](ctx context.Context, mc *cachev1alpha1.Memcached, object T, suffix string) T {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + suffix}, object)).To(Succeed())
	return object
}

func status(ctx context.Context, mc *cachev1alpha1.Memcached) cachev1alpha1.MemcachedStatus {
	GinkgoHelper()
	return live(ctx, mc, &cachev1alpha1.Memcached{}).Status
}

// summary returns the status and the reason of a condition, such as "True/AllNodesReady".
func summary(ctx context.Context, mc *cachev1alpha1.Memcached, conditionType string) string {
	GinkgoHelper()
	condition := meta.FindStatusCondition(status(ctx, mc).Conditions, conditionType)
	if condition == nil {
		return "absent"
	}
	return string(condition.Status) + "/" + condition.Reason
}

// expectConditions expects these conditions. Each argument is a status and a reason, such as True/AllNodesReady. While Ready is False,
// either Stalled or Reconciling must be True, with the reason of Ready. Otherwise, neither may exist.
func expectConditions(ctx context.Context, mc *cachev1alpha1.Memcached, ready, available, progressing, degraded string) {
	GinkgoHelper()
	current := live(ctx, mc, &cachev1alpha1.Memcached{})
	summaries := map[string]string{}
	for _, condition := range current.Status.Conditions {
		summaries[condition.Type] = string(condition.Status) + "/" + condition.Reason
		Expect(condition.ObservedGeneration).To(Equal(current.Generation))
	}
	expected := map[string]string{"Ready": ready, "Available": available, "Progressing": progressing, "Degraded": degraded}
	stalled := !strings.HasPrefix(progressing, "True/") && (strings.HasPrefix(degraded, "True/") || progressing == "False/Stuck")
	if reason, unready := strings.CutPrefix(ready, "False/"); unready {
		expected[map[bool]string{true: "Stalled", false: "Reconciling"}[stalled]] = "True/" + reason
	}
	Expect(summaries).To(Equal(expected))
	Expect(current.Status.ObservedGeneration).To(Equal(current.Generation))
}

func message(ctx context.Context, mc *cachev1alpha1.Memcached, conditionType string) string {
	GinkgoHelper()
	condition := meta.FindStatusCondition(status(ctx, mc).Conditions, conditionType)
	Expect(condition).NotTo(BeNil())
	return condition.Message
}
