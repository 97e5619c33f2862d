// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// deployed returns a function that reads the number of replicas in the workload of a Memcached, or -1 if there is no workload.
func (i *installation) deployed(t *testing.T, mc *cachev1alpha1.Memcached) func() int32 {
	return func() int32 {
		workload := workloadOf(mc)
		if err := i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), workload); err != nil {
			return -1
		}
		if set, ok := workload.(*appsv1.StatefulSet); ok {
			return *set.Spec.Replicas
		}
		return *workload.(*appsv1.Deployment).Spec.Replicas
	}
}

func workloadOf(mc *cachev1alpha1.Memcached) client.Object {
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: named(mc.Name)}
	}
	return &appsv1.Deployment{ObjectMeta: named(mc.Name)}
}

func (i *installation) gone(t *testing.T, mc *cachev1alpha1.Memcached, child client.Object) bool {
	t.Helper()
	return apierrors.IsNotFound(i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), child))
}

func (i *installation) change(t *testing.T, mc *cachev1alpha1.Memcached, change func(*cachev1alpha1.Memcached)) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), mc)).To(Succeed())
	before := mc.DeepCopy()
	change(mc)
	g.Expect(i.admin.Patch(t.Context(), mc, client.MergeFrom(before))).To(Succeed())
}

// healsDrift changes the Service and deletes the workload of a Memcached, and waits until the operator has restored both.
func (i *installation) healsDrift(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	g := NewWithT(t)
	service := &corev1.Service{ObjectMeta: named(mc.Name)}
	g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), service)).To(Succeed())
	service.Spec.Selector["app.kubernetes.io/instance"] = "another"
	g.Expect(i.admin.Update(t.Context(), service)).To(Succeed())
	g.Expect(i.admin.Delete(t.Context(), workloadOf(mc))).To(Succeed())
	g.Eventually(t.Context(), func() string {
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), service)).To(Succeed())
		return service.Spec.Selector["app.kubernetes.io/instance"]
	}, timeout).Should(Equal(mc.Name))
	g.Eventually(i.deployed(t, mc), timeout).Should(Equal(mc.Spec.Size), mc.Name)
}
