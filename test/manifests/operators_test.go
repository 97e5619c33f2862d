// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"path/filepath"
	"testing"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/kustomize"
)

// The CustomResourceDefinitions of cert-manager and of the Prometheus operator must accept the objects of their Kinds.
func TestOtherOperatorsAcceptTheirObjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("there are the definitions %q: %v", files, err)
	}
	objects := append(kustomize.Render(t, config("samples/tls")), kustomize.Render(t, config("monitoring"))...)
	for _, file := range files {
		definition, err := crd.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := crd.NewSchema(definition)
		if err != nil {
			t.Fatal(err)
		}
		validated, version := 0, definition.Spec.Group+"/"+definition.Spec.Versions[0].Name
		for _, object := range objects {
			if object.GetKind() != definition.Spec.Names.Kind {
				continue
			}
			validated++
			content, err := object.MarshalJSON()
			if err == nil {
				err = schema.Validate(content)
			}
			if err != nil || object.GetAPIVersion() != version {
				t.Errorf("%s %s of %s: %v", object.GetKind(), object.GetName(), object.GetAPIVersion(), err)
			}
		}
		if validated == 0 {
			t.Errorf("there is no %s", definition.Spec.Names.Kind)
		}
	}
}
