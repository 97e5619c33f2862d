// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// Helm's guidelines for charts define these labels, and tools select objects by them.
func TestLabelsNameTheRelease(t *testing.T) {
	version := tested(t).version
	for key, manifest := range installAs(t, "shop", "caches", "monitoring: {enabled: true}") {
		labels := manifest["metadata"].(object)["labels"].(object)
		want := object{
			"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "shop",
			"app.kubernetes.io/version": "v" + version, "helm.sh/chart": "memcached-operator-" + version,
		}
		for name, value := range want {
			if labels[name] != value {
				t.Errorf("%s: the label %s is %v, want %s", key, name, labels[name], value)
			}
		}
	}
}

func TestCommonLabelsAreOnEveryObject(t *testing.T) {
	for key, manifest := range install(t, "{commonLabels: {team: a}, monitoring: {enabled: true}, replicas: 2}") {
		if manifest["metadata"].(object)["labels"].(object)["team"] != "a" {
			t.Errorf("%s lacks the label", key)
		}
	}
}

// If commonLabels and monitoring.labels have the same key, the ServiceMonitor must have only the value in monitoring.labels, because
// duplicate keys are invalid YAML.
func TestLabelsOfTheServiceMonitorWin(t *testing.T) {
	all := install(t, "{commonLabels: {release: mine, team: a}, monitoring: {enabled: true, labels: {release: stack}}}")
	for key, manifest := range all {
		want := "mine"
		if manifest["kind"] == "ServiceMonitor" {
			want = "stack"
		}
		if labels := manifest["metadata"].(object)["labels"].(object); labels["release"] != want || labels["team"] != "a" {
			t.Errorf("%s has the labels %v, want release: %s and team: a", key, labels, want)
		}
	}
}
