// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/repository"
)

var loadSchema = sync.OnceValues(func() (*crd.Schema, error) {
	definition, err := crd.Read(repository.Path(crd.File))
	if err != nil {
		return nil, err
	}
	return crd.NewSchema(definition)
})

// apiServer returns the schema of the Memcached API. Its method Store does what the API server does before it stores a Memcached.
func apiServer(t testing.TB) *crd.Schema {
	t.Helper()
	s, err := loadSchema()
	if err != nil {
		t.Fatalf("load the schema: %v", err)
	}
	return s
}

// stored reads a Memcached from YAML, and returns it as the API server would store it.
func stored(t testing.TB, text []byte) *cachev1alpha1.Memcached {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	mc, err := apiServer(t).Store(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	return mc
}
