// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize renders kustomizations with the library of the kustomize command, so that a test checks the objects that a
// cluster gets.
package kustomize

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Objects are the objects of a kustomization.
type Objects []*unstructured.Unstructured

// Render renders the kustomization in a folder. Namespaces and CustomResourceDefinitions come first.
func Render(t *testing.T, dir string) Objects {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	rendered, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	var all Objects
	for _, resource := range rendered.Resources() {
		content, err := resource.Map()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	return all
}

// Names returns the kind and name of each object, such as "Service metrics", sorted.
func (all Objects) Names() []string {
	var names []string
	for _, object := range all {
		names = append(names, object.GetKind()+" "+object.GetName())
	}
	slices.Sort(names)
	return names
}

// Find returns the object of this kind and name as a T. The test fails if there is no such object, or if the object has a field that T
// lacks.
func Find[T any](t *testing.T, all Objects, kind, name string) *T {
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
	t.Fatalf("there is no %s %s among %q", kind, name, all.Names())
	return nil
}
