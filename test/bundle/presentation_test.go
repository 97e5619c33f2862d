// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

// The tests in this file check what consoles and catalogs show of the operator.

// annotation decodes the JSON of an annotation of the ClusterServiceVersion. The test fails if the JSON has unknown fields.
func annotation[T any](t *testing.T, name string) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(strings.NewReader(bundle(t).CSV.Annotations[name]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// OpenShift's console opens the first example of a kind when a user creates a resource of that kind. After the installation of the
// operator, the console offers the initialization resource. Both must be the smallest Memcached.
func TestFirstExampleIsTheSimplest(t *testing.T) {
	examples := annotation[[]map[string]any](t, "alm-examples")
	first := examples[0]
	want := map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": "memcached-sample"}, "spec": map[string]any{"size": 3.0},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the first example (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, annotation[map[string]any](t, "operatorframework.io/initialization-resource")); diff != "" {
		t.Errorf("what the console offers after the installation (-want +got):\n%s", diff)
	}
}

func TestEveryExampleHasADescription(t *testing.T) {
	descriptions := annotation[map[string]any](t, "alm-examples-metadata")
	var examples []string
	for _, example := range annotation[[]unstructured.Unstructured](t, "alm-examples") {
		examples = append(examples, example.GetName())
	}
	slices.Sort(examples)
	if described := slices.Sorted(maps.Keys(descriptions)); !slices.Equal(examples, described) {
		t.Errorf("the examples are %q, the descriptions are of %q", examples, described)
	}
}

// A namespace that a console creates must have the same Pod Security level as the namespace of config/default.
func TestSuggestedNamespaceIsTheOneOfConfigDefault(t *testing.T) {
	suggested := annotation[corev1.Namespace](t, "operatorframework.io/suggested-namespace-template")
	name := bundle(t).CSV.Annotations["operatorframework.io/suggested-namespace"]
	if suggested.APIVersion != "v1" || suggested.Kind != "Namespace" || suggested.Name != name {
		t.Errorf("the template is of %s %s %s, want the namespace %s", suggested.APIVersion, suggested.Kind, suggested.Name, name)
	}
	installed := kustomize.Find[metav1.PartialObjectMetadata](t, kustomize.Render(t, repository.Path("config", "default")), "Namespace", name)
	const level = "pod-security.kubernetes.io/enforce"
	if got, want := suggested.Labels[level], installed.Labels[level]; got != "restricted" || got != want {
		t.Errorf("the template enforces %q, config/default %q, want restricted", got, want)
	}
}

// Readers of an old version must find the documentation of that version, not of the newest.
func TestLinksLeadToTheVersion(t *testing.T) {
	csv := bundle(t).CSV
	for _, link := range csv.Spec.Links {
		if !strings.Contains(link.URL+"/", "/v"+csv.Spec.Version.String()+"/") {
			t.Errorf("%s leads to %s, not to version %s", link.Name, link.URL, csv.Spec.Version)
		}
	}
}
