// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestKeptDefaults covers workloads that others have changed since the operator wrote them. status.lastApplied is not set.
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
		"the defaults are gone":        {func(w *memcached.Workload) { delete(w.GetAnnotations(), memcached.PodDefaultsAnnotation) }, adopted},
		"the defaults are empty":       {annotate(memcached.PodDefaultsAnnotation, ""), adopted},
		"the defaults are garbage":     {annotate(memcached.PodDefaultsAnnotation, "{"), adopted},
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
				if diff := cmp.Diff(inWorkload(mc, c.want), rendered(t, mc, workload)); diff != "" {
					t.Errorf("image and limit (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestDefaultsKeptByTheStatus covers workloads that others have changed while the status still has a record. It also covers records
// that are damaged, lost, older than the workload, or of a workload of another Kind.
func TestDefaultsKeptByTheStatus(t *testing.T) {
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	lost := func(w *memcached.Workload) { w.SetAnnotations(nil) }
	for name, c := range map[string]struct {
		workload func(*memcached.Workload)
		status   func(*cachev1alpha1.MemcachedStatus)
		want     [2]string
	}{
		"the annotations are gone": {workload: lost, want: kept},
		"the annotations are of another spec": {workload: func(w *memcached.Workload) {
			w.GetAnnotations()[memcached.TemplateHashAnnotation] = "0123"
			w.GetAnnotations()[memcached.PodDefaultsAnnotation] = `{"images":{"memcached":"memcached:1.4"},"memoryLimit":"900Mi"}`
		}, want: kept},
		"the defaults are others": {workload: func(w *memcached.Workload) {
			w.GetAnnotations()[memcached.PodDefaultsAnnotation] = `{"images":{"memcached":"memcached:1.4"},"memoryLimit":"900Mi"}`
		}, want: kept},
		"somebody else has the name": {workload: func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, want: kept},
		"the status was not written yet": {
			status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied.TemplateHash = "0123" }, want: kept,
		},
		"the status was lost": {status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied = nil }, want: kept},
		"the status and the annotations were lost": {
			workload: lost, status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied = nil }, want: adopted,
		},
		"the image is gone": {
			workload: lost, status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied.Defaults.Images = nil },
			want: [2]string{memcachedtest.DefaultImage, olderLimit},
		},
		"the limit is garbage": {
			workload: lost, status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied.Defaults.MemoryLimit = "much" },
			want: [2]string{olderImage, presentLimit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
				mc := memcachedtest.Cache(3, in)
				workload := leftByOlder(t, mc, memcachedtest.Options)
				mc.Status.LastApplied = &cachev1alpha1.MemcachedRecord{
					TemplateHash: workload.TemplateHash(), Defaults: recordOf(t, workload),
					ArgumentsHash: argumentList(mc, recordOf(t, workload)).Hash(),
				}
				if c.workload != nil {
					c.workload(workload)
				}
				if c.status != nil {
					c.status(&mc.Status)
				}
				if diff := cmp.Diff(inWorkload(mc, c.want), rendered(t, mc, workload)); diff != "" {
					t.Errorf("image and limit (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRestartKeptByTheStatus removes restartedAt from the spec and from the workload. The record in the status still has it, so the
// nodes must not restart.
func TestRestartKeptByTheStatus(t *testing.T) {
	inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
		mc := memcachedtest.Cache(3, in, memcachedtest.RestartedAt(2026))
		before := liveWorkload(t, mc, memcachedtest.Options)
		decided := For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
		if decided.Problem != nil {
			t.Fatal(decided.Problem)
		}
		mc.Status.LastApplied, mc.Spec.RestartedAt = &decided.Record, nil
		undone := liveWorkload(t, mc, memcachedtest.Options)
		undone.Template.Annotations = nil
		decided = For(memcachedtest.View(mc, memcached.Observed{Children: []client.Object{undone.Object}}), memcachedtest.Options)
		if decided.Problem != nil {
			t.Fatal(decided.Problem)
		}
		for _, object := range decided.Objects {
			if template := memcached.PodTemplate(object); template != nil {
				if diff := cmp.Diff(before.Template.Annotations, template.Annotations); diff != "" {
					t.Errorf("annotations of the pods (-want +got):\n%s", diff)
				}
			}
		}
		if decided.Record.TemplateHash != before.TemplateHash() {
			t.Error("the restart counts as a change of the spec")
		}
		if config := decided.Wave.Arguments; config != nil && onlyList(t, config).RestartedAt != "2026-01-01T00:00:00Z" {
			t.Errorf("memcached restarts: %v", config.Data)
		}
	})
}

// TestIdleTimeout covers caches with TLS. New nodes end idle connections after ten minutes, unless the spec sets another timeout.
// Running nodes keep a valid recorded timeout, and have none if the record has none.
func TestIdleTimeout(t *testing.T) {
	recorded := func(timeout string) func(*podDefaults) { return func(d *podDefaults) { d.IdleTimeout = timeout } }
	for name, c := range map[string]struct {
		given  *metav1.Duration
		record func(*podDefaults)
		change func(*cachev1alpha1.Memcached)
		want   string
	}{
		"a new cache":                       {want: "600"},
		"the spec decides":                  {given: &metav1.Duration{Duration: time.Hour}, want: "3600"},
		"another default runs":              {record: recorded("20m"), want: "1200"},
		"an earlier version had no default": {record: recorded(""), want: ""},
		"what is recorded is garbage":       {record: recorded("long"), want: "600"},
		"what is recorded is too short":     {record: recorded("1ms"), want: "600"},
		"a change of the spec replaces the nodes": {
			record: recorded(""), change: func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) }, want: "600",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, func(mc *cachev1alpha1.Memcached) {
				mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "a"}
				mc.Spec.Config.IdleTimeout = c.given
			})
			live := liveWorkload(t, mc, memcachedtest.Options)
			if c.record != nil {
				record(t, c.record)(live)
			}
			if c.change != nil {
				c.change(mc)
			}
			after := memcached.PodTemplate(renderedAfter(t, mc, live, memcachedtest.Options)).Spec.Containers[0]
			if got := idleTimeout(optionsOf(after.Args)); got != c.want {
				t.Errorf("idle_timeout=%s, not %s", got, c.want)
			}
		})
	}
}

// recordedTimeout returns the idle timeout that the record must have for these arguments, or "".
func recordedTimeout(args []string) string {
	if idleTimeout(optionsOf(args)) == "" {
		return ""
	}
	return defaultIdleTimeout
}
