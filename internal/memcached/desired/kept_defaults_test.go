// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestKeptDefaults has live workloads that are not as the operator left them.
func TestKeptDefaults(t *testing.T) {
	annotate := func(key, value string) func(*memcached.Workload) {
		return func(w *memcached.Workload) { w.GetAnnotations()[key] = value }
	}
	limit := func(quantity string) func(*memcached.Workload) {
		return record(t, func(d *podDefaults) { d.MemoryLimit = quantity })
	}
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	for name, c := range map[string]struct {
		change func(*memcached.Workload)
		want   [2]string
	}{
		"somebody sets another image": {func(w *memcached.Workload) { w.Template.Spec.Containers[0].Image = "evil" }, kept},
		"somebody sets another limit": {func(w *memcached.Workload) { setMemory(w, "1Gi") }, kept},
		"somebody sets anything":      {func(w *memcached.Workload) { *w.Template = corev1.PodTemplateSpec{} }, kept},
		"a sidecar is injected": {func(w *memcached.Workload) {
			containers := w.Template.Spec.Containers
			w.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy"}}, containers...)
		}, kept},

		"it is an orphan":              {func(w *memcached.Workload) { w.SetOwnerReferences(nil) }, kept},
		"it belongs to somebody else":  {func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, adopted},
		"we do not control it":         {func(w *memcached.Workload) { w.GetOwnerReferences()[0].Controller = nil }, kept},
		"all annotations are gone":     {func(w *memcached.Workload) { w.SetAnnotations(nil) }, adopted},
		"the hash is gone":             {func(w *memcached.Workload) { delete(w.GetAnnotations(), memcached.TemplateHashAnnotation) }, adopted},
		"the hash is garbage":          {annotate(memcached.TemplateHashAnnotation, "☃"), adopted},
		"the defaults are gone":        {func(w *memcached.Workload) { delete(w.GetAnnotations(), podDefaultsAnnotation) }, adopted},
		"the defaults are empty":       {annotate(podDefaultsAnnotation, ""), adopted},
		"the defaults are garbage":     {annotate(podDefaultsAnnotation, "{"), adopted},
		"the image is gone":            {record(t, func(d *podDefaults) { d.Images = nil }), [2]string{memcachedtest.DefaultImage, olderLimit}},
		"the image is empty":           {record(t, func(d *podDefaults) { d.Images[memcached.ContainerName] = "" }), [2]string{memcachedtest.DefaultImage, olderLimit}},
		"the limit is gone":            {limit(""), [2]string{olderImage, presentLimit}},
		"the limit is garbage":         {limit("much"), [2]string{olderImage, presentLimit}},
		"the limit is 0":               {limit("0"), [2]string{olderImage, presentLimit}},
		"the limit is negative":        {limit("-200Mi"), [2]string{olderImage, presentLimit}},
		"the limit is below the least": {limit("163Mi"), [2]string{olderImage, "163Mi"}},
		"the limit is below the items": {limit("63Mi"), [2]string{olderImage, presentLimit}},
	} {
		t.Run(name, func(t *testing.T) {
			inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
				mc := memcachedtest.Cache(3, in)
				workload := leftByOlder(t, mc, memcachedtest.Options)
				c.change(workload)
				if diff := cmp.Diff(c.want, rendered(t, mc, workload)); diff != "" {
					t.Errorf("image and limit (-want +got):\n%s", diff)
				}
			})
		})
	}
}
