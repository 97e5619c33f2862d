// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/repository"
)

const kustomization = "kustomization.yaml"

// Every file in config/, except test data, must be in a kustomization.yaml, because nobody would notice errors in a file that is
// never rendered. Every file that a kustomization.yaml names must exist.
func TestEveryFileIsReferenced(t *testing.T) {
	referenced := map[string]bool{}
	var files []string
	err := filepath.WalkDir(config(""), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		files = append(files, path)
		if entry.Name() == kustomization {
			for _, name := range namedBy(t, path) {
				referenced[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) != kustomization && !referenced[file] {
			t.Errorf("%s is in no kustomization.yaml", file)
		}
	}
	for name := range referenced {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("a kustomization.yaml names a file that is not there: %v", err)
		}
	}
}

// namedBy returns the files and folders that a kustomization.yaml names.
func namedBy(t *testing.T, path string) []string {
	t.Helper()
	var content types.Kustomization
	if err := yaml.UnmarshalStrict([]byte(repository.ReadFile(t, path)), &content); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	names := slices.Concat(content.Resources, content.Components, content.Configurations)
	for _, generator := range content.ConfigMapGenerator {
		names = append(names, generator.FileSources...)
	}
	for _, patch := range content.Patches {
		if patch.Path != "" {
			names = append(names, patch.Path)
		}
	}
	for i, name := range names {
		names[i] = filepath.Join(filepath.Dir(path), name)
	}
	return names
}

func TestSamplesDecodeStrictly(t *testing.T) {
	var names []string
	for _, file := range slices.Concat(samplesOf(t, "samples"), samplesOf(t, "samples", "tls")) {
		if filepath.Base(file) == "cert-manager.yaml" {
			continue
		}
		sample := &cachev1alpha1.Memcached{}
		if err := yaml.UnmarshalStrict([]byte(repository.ReadFile(t, file)), sample); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got := sample.GetObjectKind().GroupVersionKind(); got != cachev1alpha1.GroupVersion.WithKind("Memcached") {
			t.Errorf("%s is a %s", file, got)
		}
		if sample.GetNamespace() != "" {
			t.Errorf("%s names a namespace: the user's choice", file)
		}
		names = append(names, sample.GetName())
	}
	// A bundle's examples are sorted by name, and consoles offer the first one to beginners. It must be memcached-sample.
	slices.Sort(names)
	if len(names) != 5 || names[0] != "memcached-sample" {
		t.Errorf("the samples are %q, want memcached-sample and four others that are sorted after it", names)
	}
}

func samplesOf(t *testing.T, folder ...string) []string {
	t.Helper()
	return namedBy(t, filepath.Join(config(filepath.Join(folder...)), kustomization))
}
