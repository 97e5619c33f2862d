// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// tested returns the release that the tests use: the version in published.mk, with the images in config.
func tested(t *testing.T) release {
	t.Helper()
	_, version, _ := strings.Cut(read(t, filepath.Join(root, "hack", "release", "published.mk")), "\nVERSION ?= ")
	version, _, _ = strings.Cut(version, "\n")
	return release{root: root, version: version}
}

// rendered caches the files of charts, because rendering a chart takes a second.
var rendered = map[release]map[string][]byte{}

func filesFor(t *testing.T, r release) map[string][]byte {
	t.Helper()
	if rendered[r] == nil {
		files, err := render(r)
		if err != nil {
			t.Fatal(err)
		}
		rendered[r] = files
	}
	return rendered[r]
}

// chartFor renders a release's chart and loads it as Helm does.
func chartFor(t *testing.T, r release) *chartv2.Chart {
	t.Helper()
	var buffered []*archive.BufferedFile
	for name, content := range filesFor(t, r) {
		buffered = append(buffered, &archive.BufferedFile{Name: name, Data: content})
	}
	chart, err := loader.LoadFiles(buffered)
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

func valuesFrom(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// installed returns what helm install would install: the text of each rendered file, by name.
func installed(t *testing.T, chart *chartv2.Chart, name, namespace, values string) (map[string]string, error) {
	t.Helper()
	capabilities := common.DefaultCapabilities.Copy()
	options := common.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, valuesFrom(t, values), options, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// objects maps a kind and a name, such as "Service a", to the manifest.
type objects map[string]object

// install returns the objects of the release memcached-operator in the namespace that config uses.
func install(t *testing.T, values string) objects {
	t.Helper()
	return installAs(t, "memcached-operator", namespace, values)
}

func installAs(t *testing.T, name, namespace, values string) objects {
	t.Helper()
	files, err := installed(t, chartFor(t, tested(t)), name, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for part := range strings.SplitSeq("\n"+text, "\n---\n") {
			var manifest object
			if err := yaml.UnmarshalStrict([]byte(part), &manifest); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, part)
			}
			if manifest != nil {
				all.add(t, manifest)
			}
		}
	}
	return all
}

func (o objects) add(t *testing.T, manifest object) {
	t.Helper()
	key := manifest["kind"].(string) + " " + manifest["metadata"].(object)["name"].(string)
	if o[key] != nil {
		t.Fatalf("%s is there twice", key)
	}
	o[key] = manifest
}

// releaseLabels are the labels that differ between an installation by Helm and one by kustomize.
var releaseLabels = []string{
	"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version", "helm.sh/chart",
}

// unlabeled removes the labels in releaseLabels, and the Namespace, which is not in the chart.
func (o objects) unlabeled() objects {
	for key, manifest := range o {
		metadata := manifest["metadata"].(object)
		labels, _ := metadata["labels"].(object)
		for _, label := range releaseLabels {
			delete(labels, label)
		}
		if len(labels) == 0 {
			delete(metadata, "labels")
		}
		if manifest["kind"] == "Namespace" {
			delete(o, key)
		}
	}
	return o
}

// kustomized builds a folder of config as users do. The edits are pairs of a text in its kustomization.yaml and the replacement.
func kustomized(t *testing.T, folder string, edits ...string) objects {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "config"))); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(edits); i += 2 {
		replaceIn(t, filepath.Join(dir, folder, "kustomization.yaml"), edits[i], edits[i+1])
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, folder))
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		manifest := object{}
		if err := yaml.Unmarshal(text, &manifest); err != nil {
			t.Fatal(err)
		}
		all.add(t, manifest)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func replaceIn(t *testing.T, path, before, after string) {
	t.Helper()
	text := read(t, path)
	if !strings.Contains(text, before) {
		t.Fatalf("%s does not contain %q", path, before)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// changes returns the differences between two installations: a line for each object and each field that differs.
func changes(before, after objects) []string {
	var found []string
	for key, manifest := range before {
		if after[key] == nil {
			found = append(found, "- "+key)
		} else {
			found = append(found, fieldChanges(key+":", manifest, after[key])...)
		}
	}
	for key := range after {
		if before[key] == nil {
			found = append(found, "+ "+key)
		}
	}
	slices.Sort(found)
	return found
}

// fieldChanges returns a line for each difference between two values. It compares maps field by field, and other values as a whole.
func fieldChanges(path string, before, after any) []string {
	old, isMap := before.(object)
	now, areMaps := after.(object)
	if !isMap || !areMaps {
		if inJSONOf(before) == inJSONOf(after) {
			return nil
		}
		return []string{fmt.Sprintf("%s %s -> %s", path, inJSONOf(before), inJSONOf(after))}
	}
	fields := maps.Clone(old)
	maps.Copy(fields, now)
	var found []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		found = append(found, fieldChanges(strings.Replace(path+"."+field, ":.", ": ", 1), old[field], now[field])...)
	}
	return found
}

func inJSONOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
