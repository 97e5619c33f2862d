// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests_test proves what the files in config/ promise. It renders them with the library that the kustomize
// command is made of, so that a test sees what a cluster would get.
package manifests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	root      = "../.."
	namespace = "memcached-operator-system"
	manager   = "memcached-operator-controller-manager"
)

// objects are what a kustomization renders.
type objects []*unstructured.Unstructured

func render(t *testing.T, dir string) objects {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	var all objects
	for _, resource := range rendered.Resources() {
		content, err := resource.Map()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	return all
}

func config(dir string) string { return filepath.Join(root, "config", dir) }

// withOptional renders config/default with the commented-out resources in it, as a user would uncomment them.
func withOptional(t *testing.T) objects {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(config(""))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "default", "kustomization.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(read(t, file), "\n#- ", "\n- ")), 0o600); err != nil {
		t.Fatal(err)
	}
	return render(t, filepath.Join(dir, "default"))
}

// names returns the sorted kinds and names.
func (all objects) names() []string {
	var names []string
	for _, object := range all {
		names = append(names, object.GetKind()+" "+object.GetName())
	}
	slices.Sort(names)
	return names
}

// find converts the object of that kind and name into a typed one.
func find[T any](t *testing.T, all objects, kind, name string) *T {
	t.Helper()
	for _, object := range all {
		if object.GetKind() != kind || object.GetName() != name {
			continue
		}
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
		return typed
	}
	t.Fatalf("there is no %s %s among %q", kind, name, all.names())
	return nil
}

// container returns the only container of the operator.
func container(t *testing.T, all objects) corev1.Container {
	t.Helper()
	containers := find[appsv1.Deployment](t, all, "Deployment", manager).Spec.Template.Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("the operator has %d containers, want 1", len(containers))
	}
	return containers[0]
}

// env returns a variable of the operator, which must be there.
func env(t *testing.T, all objects, name string) corev1.EnvVar {
	t.Helper()
	for _, variable := range container(t, all).Env {
		if variable.Name == name {
			return variable
		}
	}
	t.Fatalf("the operator has no environment variable %s", name)
	return corev1.EnvVar{}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
