// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"testing"

	"github.com/example/memcached-operator/test/crd"
)

// schemasIn returns the schemas of the CustomResourceDefinitions in files, by Kind. The first version of each must be v1.
func schemasIn(t *testing.T, files ...string) map[string]*crd.Schema {
	t.Helper()
	schemas := map[string]*crd.Schema{}
	for _, file := range files {
		definition, err := crd.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := crd.NewSchema(definition)
		if err != nil {
			t.Fatal(err)
		}
		if version := definition.Spec.Versions[0]; version.Name != "v1" || !version.Storage {
			t.Errorf("the first version of %s is %s", definition.Name, version.Name)
		}
		schemas[definition.Spec.Names.Kind] = schema
	}
	return schemas
}
