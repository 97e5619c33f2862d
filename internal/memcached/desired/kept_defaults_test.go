// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestKeptDefaults covers workloads that others have changed since the operator wrote them. status.lastApplied is not set.
func TestKeptDefaults(t *testing.T) {
	limit := func(quantity string) func(*memcached.Workload) {
		return record(func(r *memcached.Record) { r.MemoryLimit = quantity })
	}
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	for name, c := range map[string]struct {
		change func(*memcached.Workload)
		want   [2]string
	}{
		"somebody sets anything":       {func(w *memcached.Workload) { *w.Template = corev1.PodTemplateSpec{} }, kept},
		"it is an orphan":              {func(w *memcached.Workload) { w.SetOwnerReferences(nil) }, kept},
		"it belongs to somebody else":  {func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, adopted},
		"we do not control it":         {func(w *memcached.Workload) { w.GetOwnerReferences()[0].Controller = nil }, kept},
		"the record is gone":           {func(w *memcached.Workload) { w.SetAnnotations(nil) }, adopted},
		"the record is garbage":        {func(w *memcached.Workload) { w.GetAnnotations()[memcached.RecordAnnotation] = "{" }, adopted},
		"the record is of another":     {anotherTemplate, adopted},
		"the image is gone":            {record(func(r *memcached.Record) { r.Images = nil }), [2]string{memcachedtest.DefaultImage, olderLimit}},
		"the limit is gone":            {limit(""), [2]string{olderImage, presentLimit}},
		"the limit is garbage":         {limit("much"), [2]string{olderImage, presentLimit}},
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

// TestDeploymentTakenBackAdopts changes the spec of a Deployment after an upgrade, and takes the change back during the rollout. The nodes
// are replaced anyway, so they get the present defaults.
func TestDeploymentTakenBackAdopts(t *testing.T) {
	mc := memcachedtest.Cache(3)
	live := leftByOlder(t, mc, memcachedtest.Options)
	teamLabel(mc)
	live.SetAnnotations(renderedAfter(t, mc, live, memcachedtest.Options).GetAnnotations())
	mc.Spec.PodMetadata.Labels = nil
	if got := rendered(t, mc, live); got != [2]string{memcachedtest.DefaultImage, presentLimit} {
		t.Errorf("image and limit: %v", got)
	}
}

// TestDefaultsKeptByTheStatus covers StatefulSets whose record others have changed, while the status has it, and the reverse.
func TestDefaultsKeptByTheStatus(t *testing.T) {
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	lost := func(w *memcached.Workload) { w.SetAnnotations(nil) }
	for name, c := range map[string]struct {
		workload func(*memcached.Workload)
		status   func(*cachev1alpha1.MemcachedStatus)
		want     [2]string
	}{
		"the record is gone":             {workload: lost, want: kept},
		"the record is of another spec":  {workload: anotherTemplate, want: kept},
		"somebody else has the name":     {workload: func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, want: kept},
		"the status was not written yet": {status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied.TemplateHash = "0123" }, want: kept},
		"the status was lost":            {status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied = nil }, want: kept},
		"both were lost": {
			workload: lost, status: func(s *cachev1alpha1.MemcachedStatus) { s.LastApplied = nil }, want: adopted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
			workload := leftByOlder(t, mc, memcachedtest.Options)
			mc.Status.LastApplied = &cachev1alpha1.MemcachedRecord{
				TemplateHash: memcached.RecordOf(workload).Template, Defaults: recordOf(workload), ArgumentsHash: argumentList(mc).Hash(),
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
	}
}

// TestRestartIsKept removes restartedAt from the spec. Pods of a Deployment keep it by their template. The launchers of a StatefulSet
// keep it by status.lastApplied, whatever others do to the template.
func TestRestartIsKept(t *testing.T) {
	inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
		mc := memcachedtest.Cache(3, in, memcachedtest.RestartedAt(2026))
		before := liveWorkload(t, mc, memcachedtest.Options)
		mc.Spec.RestartedAt = nil
		if memcached.IsStatefulSet(mc) {
			mc.Status.LastApplied = &cachev1alpha1.MemcachedRecord{RestartedAt: memcachedtest.Cache(3, memcachedtest.RestartedAt(2026)).Spec.RestartedAt}
			before.Template.Annotations = nil
		}
		plan := For(memcachedtest.View(mc, memcached.Observed{Children: []client.Object{before.Object}}), memcachedtest.Options)
		if plan.Record.TemplateHash != memcached.RecordOf(before).Template {
			t.Error("the restart counts as a change of the spec")
		}
		if config := plan.Wave.Arguments; config != nil && onlyList(t, config).RestartedAt != "2026-01-01T00:00:00Z" {
			t.Errorf("memcached restarts: %v", config.Data)
		}
	})
}
