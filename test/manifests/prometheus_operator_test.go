// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"testing"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

func prometheusOperator(t *testing.T) map[string]*crd.Schema {
	t.Helper()
	var files []string
	for _, plural := range []string{"podmonitors", "prometheusrules", "servicemonitors"} {
		files = append(files, repository.Path("test", "manifests", "testdata", "monitoring.coreos.com_"+plural+".yaml"))
	}
	return schemasIn(t, files...)
}

// monitors returns the objects of the Prometheus operator's Kinds in config/monitoring, as JSON by Kind.
func monitors(t *testing.T) map[string][]string {
	t.Helper()
	byKind := map[string][]string{}
	for _, object := range kustomize.Render(t, config("monitoring")) {
		if object.GetAPIVersion() != "monitoring.coreos.com/v1" {
			continue
		}
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		byKind[object.GetKind()] = append(byKind[object.GetKind()], string(content))
	}
	return byKind
}

func TestThePrometheusOperatorAcceptsItsObjects(t *testing.T) {
	schemas, objects := prometheusOperator(t), monitors(t)
	if len(objects) != len(schemas) {
		t.Errorf("there are objects of %d Kinds and schemas of %d", len(objects), len(schemas))
	}
	for kind, all := range objects {
		schema := schemas[kind]
		if schema == nil {
			t.Errorf("there is no schema of %s", kind)
			continue
		}
		for _, object := range all {
			if err := schema.Validate([]byte(object)); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}
