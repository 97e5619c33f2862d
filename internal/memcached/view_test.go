// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

func TestAfter(t *testing.T) {
	cache, mc := metav1.ObjectMeta{Name: "cache"}, &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache"}}
	service, observed := &corev1.Service{ObjectMeta: cache}, &appsv1.Deployment{ObjectMeta: cache}
	observed.OwnerReferences = []metav1.OwnerReference{{UID: "ours", Controller: ptr.To(true)}}
	mc.UID = "ours"
	before := NewView(mc, Observed{Children: []client.Object{service, observed}, Pods: make([]corev1.Pod, 3)}, time.Time{})
	deployment, budget := &appsv1.Deployment{ObjectMeta: *observed.ObjectMeta.DeepCopy()}, &policyv1.PodDisruptionBudget{ObjectMeta: cache}
	after := before.After([]client.Object{deployment, budget})
	for _, c := range []struct {
		name      string
		got, want []client.Object
	}{
		{"what was written is in the place of what was observed", after.Children, []client.Object{service, deployment, budget}},
		{"the workload before", []client.Object{before.Workload.Object}, []client.Object{observed}},
		{"the workload after", []client.Object{after.Workload.Object}, []client.Object{deployment}},
		{"the observation itself", before.Children, []client.Object{service, observed}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v", c.name, c.got)
		}
	}
	if len(after.Pods) != 3 {
		t.Error("the pods are lost")
	}
}

// TestAfterNames covers two objects of one Kind with different names.
func TestAfterNames(t *testing.T) {
	one, other := &corev1.Service{}, &corev1.Service{}
	one.Name, other.Name = "cache", "cache-other"
	changed := other.DeepCopy()
	after := NewView(&cachev1alpha1.Memcached{}, Observed{Children: []client.Object{one, other}}, time.Time{}).After([]client.Object{changed})
	if !slices.Equal(after.Children, []client.Object{one, changed}) {
		t.Errorf("%v", after.Children)
	}
}
