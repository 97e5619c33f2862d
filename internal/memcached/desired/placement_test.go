// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func TestNodeSelector(t *testing.T) {
	type selector map[string]string
	for name, c := range map[string]struct{ given, want selector }{
		"none":                           {nil, selector{"kubernetes.io/os": "linux"}},
		"others":                         {selector{"disk": "none"}, selector{"kubernetes.io/os": "linux", "disk": "none"}},
		"the same":                       {selector{"kubernetes.io/os": "linux"}, selector{"kubernetes.io/os": "linux"}},
		"another: the user knows better": {selector{"kubernetes.io/os": "other"}, selector{"kubernetes.io/os": "other"}},
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Scheduling.NodeSelector = c.given
		before := len(c.given)
		got := live(t, mc, memcachedtest.Options).Spec.Template.Spec.NodeSelector
		if diff := cmp.Diff(map[string]string(c.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(mc.Spec.Scheduling.NodeSelector) != before {
			t.Errorf("%s: the spec has changed: %v", name, mc.Spec.Scheduling.NodeSelector)
		}
	}
}

// TestTopologySpread covers constraints in the spec. A constraint without a labelSelector would select no pods, so it gets a
// default.
func TestTopologySpread(t *testing.T) {
	ours := &metav1.LabelSelector{MatchLabels: map[string]string{
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/instance":   "cache",
		"app.kubernetes.io/managed-by": "memcached-operator",
	}}
	for name, c := range map[string]struct {
		given, want *metav1.LabelSelector
		keys        []string
	}{
		"no labelSelector":                     {nil, ours, nil},
		"no labelSelector, and matchLabelKeys": {nil, ours, []string{"pod-template-hash"}},
		"a labelSelector": {
			&metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			&metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, nil,
		},
		"an empty labelSelector: all pods": {&metav1.LabelSelector{}, &metav1.LabelSelector{}, nil},
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Scheduling.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: c.given, MatchLabelKeys: c.keys,
		}}
		want := []corev1.TopologySpreadConstraint{{
			MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: c.want, MatchLabelKeys: c.keys,
		}}
		before := mc.DeepCopy()
		if diff := cmp.Diff(want, podTemplate(mc, memcachedtest.Options, podDefaults{}).Spec.TopologySpreadConstraints); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, mc); diff != "" {
			t.Errorf("%s: the spec, which the cache of the manager holds, has changed:\n%s", name, diff)
		}
	}
}
