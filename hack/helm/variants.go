// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// variant is an installation that differs from the complete one because of one value of the chart.
type variant struct {
	// The field when contains the condition under which Helm installs the variant, as in a template. The field unless contains the
	// opposite condition.
	unless, when string
	// folder is the folder of the kustomization.
	folder string
	// edits are pairs of a text in kustomization.yaml and its replacement.
	edits []string
}

// complete is the folder of the kustomization for the complete installation. The edits in uncomment enable its optional parts.
const complete = "config/default"

var uncomment = []string{
	"#- ../prometheus\n", "- ../prometheus\n", "#- ../network-policy\n", "- ../network-policy\n",
	"#- ../components/in-place\n", "- ../components/in-place\n",
}

// variants has one variant for an operator of a single namespace, without cluster-scoped objects, and one variant for each part that a
// value can disable.
var variants = []variant{
	{
		unless: "not .Values.namespaced", when: ".Values.namespaced", folder: "config/namespaced",
		edits: []string{"- ../manager\n", "- ../manager\n- ../network-policy\n"},
	},
	without("crds", "- ../crd\n", ""),
	without("metrics", "- metrics_service.yaml\n", "", "- ../components/metrics-auth\n", "", "- ../prometheus\n", "",
		"path: manager_metrics_patch.yaml", "path: ../namespaced/manager_metrics_patch.yaml"),
	without("monitoring", "- ../prometheus\n", ""),
	without("networkPolicy", "- ../network-policy\n", ""),
	without("inPlace", "- ../components/in-place\n", ""),
	without("admissionPolicy", "- ../components/admission-policy\n", ""),
	without("admissionWarnings", "- ../components/admission-warnings\n", ""),
}

// without returns the variant that Helm installs if VALUE.enabled is false.
func without(value string, edits ...string) variant {
	enabled := ".Values." + value + ".enabled"
	return variant{unless: enabled, when: "not " + enabled, folder: complete, edits: slices.Concat(uncomment, edits)}
}

// object is a manifest, or a map in a manifest.
type object = map[string]any

// builder builds kustomizations from a copy of config in memory.
type builder struct{ files filesys.FileSystem }

func newBuilder(root string) (*builder, error) {
	b := &builder{filesys.MakeFsInMemory()}
	repository := os.DirFS(root)
	return b, fs.WalkDir(repository, "config", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		return b.files.WriteFile("/"+name, content)
	})
}

// build applies the edits to the kustomization in a folder, and returns the manifests that kustomize builds from it.
func (b *builder) build(folder string, edits []string) ([]object, error) {
	file := path.Join("/", folder, "kustomization.yaml")
	original, err := b.files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := string(original)
	for edit := range slices.Chunk(edits, 2) {
		before, after := edit[0], edit[1]
		if !strings.Contains(text, before) {
			return nil, fmt.Errorf("%s does not contain %q, which the chart depends on", file, before)
		}
		text = strings.Replace(text, before, after, 1)
	}
	if err := b.files.WriteFile(file, []byte(text)); err != nil {
		return nil, err
	}
	defer func() { _ = b.files.WriteFile(file, original) }() // this cannot fail in memory
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // kustomizations use patches of other folders
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(b.files, path.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	var objects []object
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		manifest := object{}
		if err := yaml.Unmarshal(text, &manifest); err != nil {
			return nil, err
		}
		if manifest["kind"] != "Namespace" { // helm install can create it
			objects = append(objects, manifest)
		}
	}
	return objects, nil
}
