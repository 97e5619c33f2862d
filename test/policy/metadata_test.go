// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

func labelled(key string) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{ObjectMeta: named("labelled")}
	mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{key: "payments"}
	return mc
}

// The ConfigMap of allowed metadata must limit the labels and annotations of pods and Services for everybody, even for
// administrators. Keys that a Memcached has already may stay.
func TestMetadataOfTheListAloneIsAllowed(t *testing.T) {
	i := install(t)
	i.createMemcacheds(t)
	i.change(t, &cachev1alpha1.Memcached{ObjectMeta: named(existing)}, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"app": "payments"}
	})
	i.grantEverything(t)
	i.installPolicies(t)
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
			g.Expect(update(&cachev1alpha1.Memcached{ObjectMeta: named(fresh)}, c.change)(t, i.admin)).To(refusal)
		})
	}
	t.Run("a MemcachedProxy", func(t *testing.T) {
		front := &cachev1alpha1.MemcachedProxy{ObjectMeta: named("new")}
		front.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: stable}}
		front.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "payments"}
		g := NewWithT(t)
		g.Expect(i.admin.Create(t.Context(), front, client.DryRunAll)).To(Succeed())
		front.Spec.PodMetadata.Labels["app"] = "payments"
		g.Expect(i.admin.Create(t.Context(), front, client.DryRunAll)).To(MatchError(ContainSubstring("spec.podMetadata.labels: app is not in the ConfigMap")))
	})
	t.Run("keys on the list", func(t *testing.T) {
		mc := &cachev1alpha1.Memcached{ObjectMeta: named("new")}
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "payments", "app.kubernetes.io/part-of": "payments"}
		NewWithT(t).Expect(i.admin.Create(t.Context(), mc, client.DryRunAll)).To(Succeed())
	})
	t.Run("existing keys stay", func(t *testing.T) {
		resize := func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 5 }
		NewWithT(t).Expect(update(&cachev1alpha1.Memcached{ObjectMeta: named(existing)}, resize)(t, i.admin)).To(Succeed())
	})
}

// allowMetadata adds the keys of the labels and annotations of Memcacheds to the ConfigMap of allowed metadata. It waits until each
// Memcached is permitted.
func (i *installation) allowMetadata(t *testing.T, all []*cachev1alpha1.Memcached) {
	t.Helper()
	var keys []string
	for _, mc := range all {
		for _, metadata := range []cachev1alpha1.Metadata{mc.Spec.PodMetadata, mc.Spec.Service.Metadata} {
			keys = slices.AppendSeq(slices.AppendSeq(keys, maps.Keys(metadata.Labels)), maps.Keys(metadata.Annotations))
		}
	}
	i.addToList(t, "metadata", keys...)
	for _, mc := range all {
		NewWithT(t).Eventually(t.Context(), func() error { return create(mc)(t, i.admin) }, timeout).Should(Succeed())
	}
}

// addToList adds entries to the ConfigMap of allowed metadata or images. The argument what is "metadata" or "images".
func (i *installation) addToList(t *testing.T, what string, entries ...string) {
	t.Helper()
	g := NewWithT(t)
	list := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: operatorNamespace, Name: "memcached-operator-allowed-" + what}
	g.Expect(i.admin.Get(t.Context(), key, list)).To(Succeed())
	for _, entry := range entries {
		list.Data[fmt.Sprintf("mine-%d", len(list.Data))] = entry
	}
	g.Expect(i.admin.Update(t.Context(), list)).To(Succeed())
}
