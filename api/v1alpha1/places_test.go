// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/repository"
)

// crdSchema returns the schema of Memcached.
func crdSchema() apiextensionsv1.JSONSchemaProps {
	definition, err := crd.Read(repository.Path(crd.File))
	utilruntime.Must(err)
	return *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// places returns the place root, which is spec or status, and all places below.
func places(root string) []crd.Place { return crd.Places(root, crdSchema().Properties[root]) }

// valueAt returns the value at a path in a spec as JSON, or an empty text. The spec is YAML. In a list, valueAt takes the first
// element.
func valueAt(spec, path string) string {
	var value any
	utilruntime.Must(yaml.Unmarshal([]byte(spec), &value))
	for _, step := range strings.Split(strings.ReplaceAll(path, "[0]", ".[0]"), ".")[1:] {
		switch parent := value.(type) {
		case []any:
			value = parent[0]
		case map[string]any:
			value = parent[step]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	utilruntime.Must(err)
	return string(text)
}
