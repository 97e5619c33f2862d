// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func anotherTemplate(w *memcached.Workload) {
	record(func(r *memcached.Record) { r.Template = "0123" })(w)
}

// TestLimitBelowTheFloor checks that a memory limit below the minimum is refused, except for running pods of a Deployment that do not
// change.
func TestLimitBelowTheFloor(t *testing.T) {
	for name, c := range map[string]struct {
		limit   string
		change  func(*memcached.Workload)
		refused bool
	}{
		"nothing runs":                 {"120Mi", nil, true},
		"the same template runs":       {"120Mi", func(*memcached.Workload) {}, false},
		"another template runs":        {"120Mi", anotherTemplate, true},
		"it runs for somebody else":    {"120Mi", func(w *memcached.Workload) { w.GetOwnerReferences()[0].UID = "another" }, true},
		"enough, and nothing runs":     {"170Mi", nil, false},
		"enough, and the same runs":    {"170Mi", func(*memcached.Workload) {}, false},
		"a limit of 0 is a limit":      {"0", nil, true},
		"a negative limit is a limit":  {"-1Gi", nil, true},
		"a limit that is no whole MiB": {"130000001", nil, true},
	} {
		for kind, list := range map[string]func(*cachev1alpha1.MemcachedSpec) *corev1.ResourceList{
			"limit":           func(s *cachev1alpha1.MemcachedSpec) *corev1.ResourceList { return &s.Resources.Limits },
			"request, so too": func(s *cachev1alpha1.MemcachedSpec) *corev1.ResourceList { return &s.Resources.Requests },
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				mc := memcachedtest.Cache(3)
				*list(&mc.Spec) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
				var observed memcached.Observed
				workload := liveWorkload(t, mc, older)
				*list(&mc.Spec) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.limit)}
				if c.change != nil {
					record(func(r *memcached.Record) { r.Template = templateHash(mc, older) })(workload)
					c.change(workload)
					observed.Children = []client.Object{workload.Object}
				}
				plan := For(memcachedtest.View(mc, observed), memcachedtest.Options)
				problem := plan.Problem
				if (problem != nil) != c.refused {
					t.Fatalf("refused: %v", problem)
				}
				if c.refused && (problem.Message == "" || problem.Reason != cachev1alpha1.ReasonInvalidSpec || len(plan.Objects) < 3) {
					t.Errorf("reason %s, objects %v", problem.Reason, plan.Objects)
				}
			})
		}
	}
}
