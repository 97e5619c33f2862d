// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestCarriedOut expects the decided record only if the StatefulSet bears that record, and otherwise the last record. A Deployment has
// none in the status.
func TestCarriedOut(t *testing.T) {
	images := func(image cachev1alpha1.DefaultImage) cachev1alpha1.MemcachedDefaults {
		return cachev1alpha1.MemcachedDefaults{Images: map[string]cachev1alpha1.DefaultImage{memcached.ContainerName: image}}
	}
	last := &cachev1alpha1.MemcachedRecord{TemplateHash: "1", Defaults: images("memcached:1")}
	decided := cachev1alpha1.MemcachedRecord{TemplateHash: "2", Defaults: images("memcached:2")}
	written := decided
	written.Former = &cachev1alpha1.MemcachedFormerRecord{TemplateHash: last.TemplateHash, Defaults: last.Defaults}
	bearing := memcached.Record{Template: "2", MemcachedDefaults: decided.Defaults}.Annotations()
	with := func(key, value string) map[string]string {
		annotations := maps.Clone(bearing)
		annotations[key] = value
		return annotations
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		want        *cachev1alpha1.MemcachedRecord
	}{
		"it was written":                    {bearing, &written},
		"beside annotations of others":      {with("theirs", "1"), &written},
		"there is no workload":              {nil, last},
		"the workload is of the last spec":  {memcached.Record{Template: "1", MemcachedDefaults: decided.Defaults}.Annotations(), last},
		"the workload has other defaults":   {with(memcached.RecordAnnotation, `{"template":"2"}`), last},
		"somebody has lost the annotations": {map[string]string{}, last},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3)
			mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet
			mc.Status.LastApplied = last
			var observed memcached.Observed
			if c.annotations != nil {
				observed.Children = memcachedtest.Children(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
					Name: mc.Name, Annotations: c.annotations,
					OwnerReferences: []metav1.OwnerReference{memcachedtest.Controller("Memcached", mc.Name, mc.UID)},
				}})
			}
			if mc := memcachedtest.Cache(3); memcachedtest.View(mc, observed).CarriedOut(decided) != nil {
				t.Error("a Deployment has a record")
			}
			if diff := cmp.Diff(c.want, memcachedtest.View(mc, observed).CarriedOut(decided)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
