// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// labelled is a Memcached whose pods join whatever selects the label.
func labelled(key string) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{ObjectMeta: named("labelled")}
	mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{key: "payments"}
	return mc
}

// Whoever writes a Memcached, an administrator too, gives pods and Services the labels and annotations of the list alone.
func TestMetadataOfTheListAloneIsAllowed(t *testing.T) {
	i := install(t)
	i.createMemcacheds(t)
	i.change(t, &cachev1alpha1.Memcached{ObjectMeta: named(existing)}, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"app": "payments"}
	})
	i.grantEverything(t)
	i.guard(t)
	type metadata = cachev1alpha1.Metadata
	for name, c := range map[string]struct {
		key    string
		change func(mc *cachev1alpha1.Memcached)
	}{
		"labels of pods": {"spec.podMetadata.labels: app", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata = metadata{Labels: map[string]cachev1alpha1.LabelValue{"app": "payments"}}
		}},
		"annotations of pods": {"spec.podMetadata.annotations: k8s.v1.cni.cncf.io/networks", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata = metadata{Annotations: map[string]cachev1alpha1.AnnotationValue{"k8s.v1.cni.cncf.io/networks": "others"}}
		}},
		"labels of the Service": {"spec.service.labels: teams", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Service.Labels = map[string]cachev1alpha1.LabelValue{"teams": "payments"}
		}},
		"annotations of the Service": {"spec.service.annotations: app.kubernetes.io", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"app.kubernetes.io": "no prefix"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := MatchError(ContainSubstring(c.key + " is not in the ConfigMap " + operatorNamespace + "/memcached-operator-allowed-metadata"))
			mc := &cachev1alpha1.Memcached{ObjectMeta: named("new")}
			c.change(mc)
			g := NewWithT(t)
			g.Expect(i.admin.Create(t.Context(), mc, client.DryRunAll)).To(refusal)
			g.Expect(updated(t.Context(), i.admin, &cachev1alpha1.Memcached{}, fresh, c.change)).To(refusal)
		})
	}
	t.Run("of the list", func(t *testing.T) {
		mc := &cachev1alpha1.Memcached{ObjectMeta: named("new")}
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "payments", "app.kubernetes.io/part-of": "payments"}
		NewWithT(t).Expect(i.admin.Create(t.Context(), mc, client.DryRunAll)).To(Succeed())
	})
	t.Run("what was there before stays", func(t *testing.T) {
		resize := func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 }
		NewWithT(t).Expect(updated(t.Context(), i.admin, &cachev1alpha1.Memcached{}, existing, resize)).To(Succeed())
	})
}

// allowMetadata adds the keys of Memcached resources to the list, and waits until each is permitted.
func (i *installation) allowMetadata(t *testing.T, all []*cachev1alpha1.Memcached) {
	t.Helper()
	g := NewWithT(t)
	list := &corev1.ConfigMap{}
	g.Expect(i.admin.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "memcached-operator-allowed-metadata"}, list)).To(Succeed())
	add := func(key string) { list.Data[fmt.Sprintf("mine-%d", len(list.Data))] = key }
	for _, mc := range all {
		for _, metadata := range []cachev1alpha1.Metadata{mc.Spec.PodMetadata, mc.Spec.Service.Metadata} {
			for key := range metadata.Labels {
				add(key)
			}
			for key := range metadata.Annotations {
				add(key)
			}
		}
	}
	g.Expect(i.admin.Update(t.Context(), list)).To(Succeed())
	for _, mc := range all {
		g.Eventually(t.Context(), func() error { return i.admin.Create(t.Context(), mc.DeepCopy(), client.DryRunAll) }, patience).Should(Succeed())
	}
}
