// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"sigs.k8s.io/yaml"
)

func TestChartIsLinted(t *testing.T) {
	files := filesFor(t, tested(t))
	dir := t.TempDir() + "/memcached-operator"
	if err := write(dir, files); err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{"", "namespaced: true", "monitoring: {enabled: true}"} {
		for _, message := range lint.RunAll(dir, valuesFrom(t, values), namespace).Messages {
			t.Errorf("with the values %q: %s", values, message)
		}
	}
	for _, name := range []string{"LICENSE", ".helmignore"} {
		if len(files[name]) == 0 {
			t.Errorf("the chart has no %s", name)
		}
	}
	// write must replace a chart, but must not delete another folder.
	if err := write(dir, files); err != nil {
		t.Error(err)
	}
	if err := write(root, files); err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("the repository would be replaced: %v", err)
	}
}

func TestMetadataOfTheChart(t *testing.T) {
	chart := chartFor(t, release{root: root, version: "1.3.0-rc.1"})
	if chart.Metadata.Version != "1.3.0-rc.1" || chart.Metadata.AppVersion != "v1.3.0-rc.1" {
		t.Errorf("the versions are %s and %s", chart.Metadata.Version, chart.Metadata.AppVersion)
	}
	for version, want := range map[string]bool{"v1.29.9": false, "v1.30.0": true, "v1.30.4-eks-a737599": true, "v1.37.2": true} {
		if got := util.IsCompatibleRange(chart.Metadata.KubeVersion, version); got != want {
			t.Errorf("Kubernetes %s is admitted: %t, want %t", version, got, want)
		}
	}
	for name, text := range chart.Metadata.Annotations {
		var parsed any
		if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if chart.Metadata.Annotations["artifacthub.io/prerelease"] != "true" {
		t.Error("a release candidate is said to be a release")
	}
	want := []string{"crds", "crdsExamples", "images", "license"}
	for _, name := range want {
		if chart.Metadata.Annotations["artifacthub.io/"+name] == "" {
			t.Errorf("the annotation %s is missing among %q", name, slices.Sorted(maps.Keys(chart.Metadata.Annotations)))
		}
	}
}

func TestImagesOfTheRelease(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("ab", 32)
	for image, want := range map[string]string{
		"registry.example.com:5000/team/operator:v1.2.3":          "registry.example.com:5000/team/operator:v1.2.3",
		"registry.example.com:5000/team/operator:test":            "registry.example.com:5000/team/operator:test",
		"registry.example.com:5000/team/operator" + digest:        "registry.example.com:5000/team/operator" + digest,
		"registry.example.com:5000/team/operator:v1.2.3" + digest: "registry.example.com:5000/team/operator" + digest,
	} {
		chart := chartFor(t, release{root: root, version: "1.2.3", image: image, agentImage: "mirror.example.com/a:1", memcachedImage: "mirror.example.com/m:1"})
		files, err := installed(t, chart, "memcached-operator", namespace, "")
		if err != nil {
			t.Fatal(err)
		}
		deployment := files["memcached-operator/templates/deployment.yaml"]
		for _, wanted := range []string{`image: "` + want + `"`, `value: "mirror.example.com/a:1"`, `value: "mirror.example.com/m:1"`} {
			if !strings.Contains(deployment, wanted) {
				t.Errorf("%s: the Deployment lacks %s", image, wanted)
			}
		}
	}
}
