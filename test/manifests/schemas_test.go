// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
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

// mistake replaces a right text in the JSON of an object with a wrong one. The schema must then refuse the object, with an error that
// contains the text in want.
type mistake struct{ kind, right, wrong, want string }

// mustRefuse makes each mistake in the object of its Kind, and fails unless the schema refuses the object. The argument objects maps
// each Kind to the JSON of an object.
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
