// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		kind, sample := "Memcached", client.Object(&cachev1alpha1.Memcached{})
		if strings.HasSuffix(file, "_memcachedproxy.yaml") {
			kind, sample = "MemcachedProxy", &cachev1alpha1.MemcachedProxy{}
		}
		if err := yaml.UnmarshalStrict([]byte(repository.ReadFile(t, file)), sample); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got := sample.GetObjectKind().GroupVersionKind(); got != cachev1alpha1.GroupVersion.WithKind(kind) {
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

// The sample of the tutorial sets only the size.
func TestSmallestSampleIsTheTutorials(t *testing.T) {
	var sample, want map[string]any
	file := filepath.Join(config("samples"), "cache_v1alpha1_memcached.yaml")
	if err := yaml.Unmarshal([]byte(repository.ReadFile(t, file)), &sample); err != nil {
		t.Fatal(err)
	}
	want = map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": "memcached-sample"}, "spec": map[string]any{"size": 3.0},
	}
	if diff := cmp.Diff(want, sample); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// operator-sdk and kubebuilder read PROJECT; they refuse a layout that they do not know.
func TestProjectMatchesTheAPI(t *testing.T) {
	var got map[string]any
	if err := yaml.Unmarshal([]byte(repository.Read(t, "PROJECT")), &got); err != nil {
		t.Fatal(err)
	}
	module := strings.TrimPrefix(strings.SplitN(repository.Read(t, "go.mod"), "\n", 2)[0], "module ")
	group, domain, _ := strings.Cut(cachev1alpha1.GroupVersion.Group, ".")
	resource := func(kind string) map[string]any {
		return map[string]any{
			"api":        map[string]any{"crdVersion": "v1", "namespaced": true},
			"controller": true,
			"domain":     domain,
			"group":      group,
			"kind":       kind,
			"path":       module + "/api/" + cachev1alpha1.GroupVersion.Version,
			"version":    cachev1alpha1.GroupVersion.Version,
		}
	}
	want := map[string]any{
		"domain": domain,
		"layout": []any{"go.kubebuilder.io/v4"},
		"plugins": map[string]any{
			"manifests.sdk.operatorframework.io/v2": map[string]any{}, "scorecard.sdk.operatorframework.io/v2": map[string]any{},
		},
		"projectName": "memcached-operator",
		"repo":        module,
		"resources":   []any{resource("Memcached"), resource("MemcachedProxy")},
		"version":     "3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PROJECT (-want +got):\n%s", diff)
	}
}

// The files in config/, hack/ and .ci/, and the files that this test lists, must not name a home folder.
func TestNothingIsMachineSpecific(t *testing.T) {
	personal := regexp.MustCompile(`/(home|root|Users)/[A-Za-z]`)
	files := []string{"Makefile", "Dockerfile", "PROJECT", ".dockerignore", ".gitignore", ".golangci.yml"}
	for _, dir := range []string{"config", "hack", ".ci"} {
		err := filepath.WalkDir(repository.Path(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			relative, err := filepath.Rel(repository.Path(), path)
			files = append(files, relative)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		if found := personal.FindString(repository.Read(t, file)); found != "" {
			t.Errorf("%s holds %q", file, found)
		}
	}
}
