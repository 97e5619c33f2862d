// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The policies must let the operator delete an orphaned child only if the child has the annotation applied-hash, and runs no nodes or
// proxies. They must let the operator scale a StatefulSet, whatever serviceName and selector it has.
func TestLeftoversUnderThePolicies(t *testing.T) {
	i := install(t)
	i.grantEverything(t)
	i.createMemcacheds(t)
	i.installPolicies(t)
	t.Run("an orphan is deleted if it bears the hash and runs no nodes", func(t *testing.T) {
		g := NewWithT(t)
		budget, deployment := &policyv1.PodDisruptionBudget{ObjectMeta: named(existing)}, &appsv1.Deployment{ObjectMeta: named(existing)}
		for _, child := range []client.Object{budget, deployment} {
			g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(child), child)).To(Succeed())
			child.SetOwnerReferences(nil)
			g.Expect(i.admin.Update(t.Context(), child)).To(Succeed())
		}
		g.Expect(remove(budget)(t, i.operator)).To(MatchError(ContainSubstring("must stay as it is")))
		for _, child := range []client.Object{budget, deployment} {
			child.SetAnnotations(map[string]string{"cache.example.com/applied-hash": "0123456789abcdef"})
			g.Expect(i.admin.Update(t.Context(), child)).To(Succeed())
		}
		g.Expect(remove(budget)(t, i.operator)).To(Succeed())
		g.Expect(remove(deployment)(t, i.operator)).To(MatchError(ContainSubstring("must stay as it is")))
	})
	t.Run("the same of a proxy", func(t *testing.T) {
		g := NewWithT(t)
		bearing := named("left")
		bearing.Labels = map[string]string{
			"app.kubernetes.io/name": "memcached-proxy", "app.kubernetes.io/instance": "left", "app.kubernetes.io/managed-by": "memcached-operator",
		}
		budget, service := &policyv1.PodDisruptionBudget{ObjectMeta: bearing}, &corev1.Service{ObjectMeta: bearing}
		service.Spec.Ports = []corev1.ServicePort{{Port: 11211}}
		for _, child := range []client.Object{budget, service} {
			g.Expect(i.admin.Create(t.Context(), child)).To(Succeed())
		}
		g.Expect(remove(budget)(t, i.operator)).To(MatchError(ContainSubstring("must stay as it is")))
		for _, child := range []client.Object{budget, service} {
			child.SetAnnotations(map[string]string{"cache.example.com/applied-hash": "0123456789abcdef"})
			g.Expect(i.admin.Update(t.Context(), child)).To(Succeed())
		}
		g.Expect(remove(service)(t, i.operator)).To(MatchError(ContainSubstring("denied request")))
		g.Expect(remove(budget)(t, i.operator)).To(Succeed())
	})
	t.Run("a set with another serviceName and selector is resized and keeps them", func(t *testing.T) {
		g := NewWithT(t)
		children := childrenOf(t, i.admin, stable)
		set := children[slices.IndexFunc(children, func(child client.Object) bool {
			_, found := child.(*appsv1.StatefulSet)
			return found
		})].(*appsv1.StatefulSet)
		set.Spec.ServiceName, set.Spec.Selector = "other", &metav1.LabelSelector{
			MatchLabels: map[string]string{"app.kubernetes.io/instance": stable},
		}
		g.Expect(create(set)(t, i.operator)).NotTo(Succeed())
		g.Expect(i.admin.Create(t.Context(), set)).To(Succeed())
		g.Expect(update(set, func(set *appsv1.StatefulSet) { set.Spec.Replicas = ptr.To(int32(4)) })(t, i.operator)).To(Succeed())
	})
}
