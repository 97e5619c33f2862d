// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestKeptDefaults covers Deployments that others have changed since the operator wrote them.
func TestKeptDefaults(t *testing.T) {
	limit := func(quantity string) func(*memcached.Workload) {
		return record(func(r *memcached.Record) { r.MemoryLimit = quantity })
	}
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	for name, c := range map[string]struct {
		change func(*memcached.Workload)
		want   [2]string
	}{
		"somebody sets anything":      {func(w *memcached.Workload) { *w.Template = corev1.PodTemplateSpec{} }, kept},
		"it is an orphan":             {orphaned, kept},
		"it belongs to somebody else": {func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, adopted},
		"we do not control it": {func(w *memcached.Workload) {
			orphaned(w)
			w.SetOwnerReferences([]metav1.OwnerReference{{UID: "cache-uid"}})
		}, kept},
		"the record is gone":    {func(w *memcached.Workload) { w.SetAnnotations(nil) }, adopted},
		"the record is garbage": {func(w *memcached.Workload) { w.GetAnnotations()[memcached.RecordAnnotation] = "{" }, adopted},
		"the record is edited": {func(w *memcached.Workload) {
			w.GetAnnotations()[memcached.RecordAnnotation] = strings.Replace(w.GetAnnotations()[memcached.RecordAnnotation], olderImage, "theirs", 1)
		}, adopted},
		"the record is of another":     {anotherTemplate, adopted},
		"the image is gone":            {record(func(r *memcached.Record) { r.Images = nil }), [2]string{memcachedtest.DefaultImage, olderLimit}},
		"the limit is gone":            {limit(""), [2]string{olderImage, presentLimit}},
		"the limit is garbage":         {limit("much"), [2]string{olderImage, presentLimit}},
		"the limit is below the least": {limit("163Mi"), [2]string{olderImage, "163Mi"}},
		"the limit is below the items": {limit("63Mi"), [2]string{olderImage, presentLimit}},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3)
			workload := leftByOlder(t, mc, memcachedtest.Options)
			c.change(workload)
			if diff := cmp.Diff(c.want, rendered(t, mc, workload)); diff != "" {
				t.Errorf("image and limit (-want +got):\n%s", diff)
			}
		})
	}
}

func orphaned(w *memcached.Workload) {
	w.SetOwnerReferences(nil)
	w.GetAnnotations()[memcached.AppliedHashAnnotation] = "ours"
}

// TestDeploymentTakenBackAdopts changes the spec of a Deployment after an upgrade, and takes the change back during the rollout. The nodes
// are replaced anyway, so they get the present defaults.
func TestDeploymentTakenBackAdopts(t *testing.T) {
	mc := memcachedtest.Cache(3)
	live := leftByOlder(t, mc, memcachedtest.Options)
	mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
	live.SetAnnotations(renderedAfter(t, mc, live, memcachedtest.Options).GetAnnotations())
	mc.Spec.PodMetadata.Labels = nil
	if got := rendered(t, mc, live); got != [2]string{memcachedtest.DefaultImage, presentLimit} {
		t.Errorf("image and limit: %v", got)
	}
}

// TestRestartIsKept removes restartedAt and replacedAt from the spec. The annotations of the workload keep them.
func TestRestartIsKept(t *testing.T) {
	inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
		mc := memcachedtest.Cache(3, in, memcachedtest.RestartedAt(2026))
		if memcached.IsStatefulSet(mc) {
			mc.Spec.ReplacedAt = memcachedtest.Cache(3, memcachedtest.RestartedAt(2025)).Spec.RestartedAt
		}
		before := liveWorkload(t, mc, memcachedtest.Options)
		mc.Spec.RestartedAt, mc.Spec.ReplacedAt = nil, nil
		plan := For(memcachedtest.View(mc, memcached.Observed{Children: []client.Object{before.Object}}), memcachedtest.Options)
		if diff := cmp.Diff(string(encodedSpec(t, before.Object)), string(encodedSpec(t, plan.Workload()))); diff != "" {
			t.Errorf("the nodes change (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(before.GetAnnotations(), plan.Workload().GetAnnotations()); diff != "" {
			t.Errorf("the next reconcile has forgotten it (-before +after):\n%s", diff)
		}
	})
}
