// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func TestUnobserved(t *testing.T) {
	const failed = "False ApplyFailed: cannot get"
	known := func(mc *cachev1alpha1.Memcached) {
		mc.Status = cachev1alpha1.MemcachedStatus{
			ObservedGeneration: memcachedtest.Generation - 1, ReadyReplicas: 2, Nodes: []string{"cache-0", "cache-1"},
			Conditions: []metav1.Condition{
				{Type: "Available", Status: metav1.ConditionTrue, Reason: "AsExpected", Message: "2 of 2 nodes are ready"},
				{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "Complete", Message: "No change is under way"},
			},
		}
	}
	for name, test := range map[string]struct {
		changes                                 []func(*cachev1alpha1.Memcached)
		ready, available, progressing, degraded string
	}{
		"never observed": {nil, failed, noReport, seeDegraded, "True ApplyFailed: cannot get"},
		"observed before": {
			[]func(*cachev1alpha1.Memcached){known},
			failed, "True AsExpected: 2 of 2 nodes are ready", seeDegraded,
			"True ApplyFailed: cannot get",
		},
		"paused": {
			[]func(*cachev1alpha1.Memcached){known, memcachedtest.Paused},
			failed, "True AsExpected: 2 of 2 nodes are ready",
			"False Paused: spec.paused holds back: what cannot be read. To resume: " +
				`kubectl patch memcached cache -n shop --type=merge -p '{"spec":{"paused":false}}'`,
			"True ApplyFailed: cannot get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, test.changes...)
			got := Unobserved(memcached.NewView(mc, memcached.Observed{}, noon), memcached.Problem{Reason: "ApplyFailed", Message: "cannot get"})
			want := map[string]string{
				"Ready": test.ready, "Available": test.available, "Progressing": test.progressing, "Degraded": test.degraded,
				"Stalled": "True ApplyFailed: ApplyFailed: see the condition Ready",
			}
			texts := map[string]string{}
			for _, c := range got.Conditions {
				texts[c.Type] = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if difference := cmp.Diff(want, texts); difference != "" {
				t.Errorf("-want +got:\n%s", difference)
			}
			got.Conditions, mc.Status.Conditions = nil, nil
			if difference := cmp.Diff(mc.Status, got); difference != "" {
				t.Errorf("what was known has changed: -want +got:\n%s", difference)
			}
		})
	}
}

// TestUnobservedKeepsWhatAgentsReported covers an existing condition NeedsAttention. It stays, because no agent was asked.
func TestUnobservedKeepsWhatAgentsReported(t *testing.T) {
	mc := memcachedtest.Cache(3, func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = []metav1.Condition{{Type: "NeedsAttention", Status: metav1.ConditionTrue, Reason: "InvalidSecret", Message: "it expires"}}
	})
	got := Unobserved(memcached.NewView(mc, memcached.Observed{}, noon), memcached.Problem{Reason: "ApplyFailed", Message: "cannot get"})
	if condition := meta.FindStatusCondition(got.Conditions, "NeedsAttention"); condition == nil || condition.Message != "it expires" {
		t.Errorf("%+v", condition)
	}
}
