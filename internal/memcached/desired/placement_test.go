// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
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
		if diff := cmp.Diff(want, podTemplate(mc, 0, memcachedtest.Options, podDefaults{}).Spec.TopologySpreadConstraints); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, mc); diff != "" {
			t.Errorf("%s: the spec, which the cache of the manager holds, has changed:\n%s", name, diff)
		}
	}
}

// TestSystemPriorityClassesAreTheInstallersDecision checks that system classes are refused unless the installer allows them. Pods with
// such a class preempt all other pods.
func TestSystemPriorityClassesAreTheInstallersDecision(t *testing.T) {
	for class, refused := range map[string]bool{
		"":                        false,
		"high":                    false,
		"my-system-":              false,
		"system":                  false,
		"system-cluster-critical": true,
		"system-node-critical":    true,
		"system-of-ours":          true,
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Scheduling.PriorityClassName = class
		opts := memcached.Options{DefaultImage: memcachedtest.DefaultImage}
		plan := For(memcachedtest.View(mc, memcached.Observed{}), opts)
		problem := plan.Problem
		if (problem != nil) != refused {
			t.Errorf("%q is answered with %v", class, problem)
		}
		if problem != nil && (problem.Reason != cachev1alpha1.ReasonInvalidSpec || len(plan.Objects) != 3 ||
			!strings.HasPrefix(problem.Message, "spec.scheduling.priorityClassName is "+class)) {
			t.Errorf("%q: %s: %s", class, problem.Reason, problem.Message)
		}
		opts.AllowSystemPriorityClasses = true
		if allowed := For(memcachedtest.View(mc, memcached.Observed{}), opts); allowed.Problem != nil {
			t.Errorf("%q is allowed and answered with %v", class, allowed.Problem)
		}
	}
}
