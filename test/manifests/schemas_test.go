// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/crd"
)

// schemasIn are the schemas of CustomResourceDefinitions by their Kinds. All are of the version v1.
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

// mistake replaces right by wrong in an object. The schema must then refuse the object, with the words want.
type mistake struct{ kind, right, wrong, want string }

// mustRefuse changes objects, which are JSON by Kind. A schema that accepts everything proves nothing.
func mustRefuse(t *testing.T, schemas map[string]*crd.Schema, objects map[string]string, mistakes ...mistake) {
	t.Helper()
	for _, mistake := range mistakes {
		object := strings.Replace(objects[mistake.kind], mistake.right, mistake.wrong, 1)
		if object == objects[mistake.kind] {
			t.Errorf("the %s has no %s", mistake.kind, mistake.right)
			continue
		}
		if err := schemas[mistake.kind].Validate([]byte(object)); err == nil || !strings.Contains(err.Error(), mistake.want) {
			t.Errorf("%s with %s: got %v, want %q", mistake.kind, mistake.wrong, err, mistake.want)
		}
	}
}
