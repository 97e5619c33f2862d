// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package golden compares objects with files, for tests.
package golden

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Compare compares objects with a YAML file. If they differ, the test fails with the advice. With update, Compare first rewrites the
// file.
func Compare(t testing.TB, file string, objects []client.Object, update bool, advice string) {
	t.Helper()
	got := Documents(t, objects)
	if update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", file, advice, diff)
	}
}

// Documents returns objects as YAML documents, without their status.
func Documents(t testing.TB, objects []client.Object) []byte {
	t.Helper()
	var documents [][]byte
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(content, "status")
		document, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n"))
}
