// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

func TestReadyWith(t *testing.T) {
	ready := func(change func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
		mc := &cachev1alpha1.Memcached{}
		mc.Generation = 2
		mc.Status.ObservedGeneration = 2
		mc.Status.Nodes = []string{"a", "b"}
		mc.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		change(mc)
		return mc
	}
	for name, test := range map[string]struct {
		change  func(*cachev1alpha1.Memcached)
		missing string
	}{
		"ready":              {func(*cachev1alpha1.Memcached) {}, ""},
		"stale status":       {func(mc *cachev1alpha1.Memcached) { mc.Generation = 3 }, "observedGeneration is 2 of generation 3"},
		"no condition":       {func(mc *cachev1alpha1.Memcached) { mc.Status.Conditions = nil }, "no condition Ready"},
		"not ready":          {func(mc *cachev1alpha1.Memcached) { mc.Status.Conditions[0].Status = metav1.ConditionFalse }, "Ready is False"},
		"too few node names": {func(mc *cachev1alpha1.Memcached) { mc.Status.Nodes = []string{"a"} }, "1 names instead of 2: [a]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readyWith(ready(test.change), 2)
			if (got == "") != (test.missing == "") || !strings.Contains(got, test.missing) {
				t.Errorf("got %q, want %q in it", got, test.missing)
			}
		})
	}
}

func TestRunning(t *testing.T) {
	pod := func(name, image string) corev1.Pod {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
		pod.Name = name
		return pod
	}
	if got := running([]corev1.Pod{pod("a", "new"), pod("b", "new")}, "new"); got != "" {
		t.Errorf("all run the image, got %q", got)
	}
	if got, want := running([]corev1.Pod{pod("a", "new"), pod("b", "old")}, "new"), "b runs old"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithout(t *testing.T) {
	mc := &cachev1alpha1.Memcached{Status: cachev1alpha1.MemcachedStatus{Nodes: []string{"a"}}}
	if got := without(mc, "b"); got != "" {
		t.Errorf("b is no node, got %q", got)
	}
	if got := without(mc, "a"); got == "" {
		t.Error("a is a node, got nothing")
	}
}
