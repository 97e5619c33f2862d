// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/repository"
)

// place is where a value can be in a Memcached.
type place struct {
	// path is as the API server writes it: spec.scheduling.tolerations[0].key. The key of maps is k.
	path   string
	schema apiextensionsv1.JSONSchemaProps
	// with is the JSON of the smallest spec, or status, that has the value there.
	with func(value string) string
}

// crdSchema is the schema of the CustomResourceDefinition.
func crdSchema() apiextensionsv1.JSONSchemaProps {
	definition, err := crd.Read(repository.Path(crd.File))
	utilruntime.Must(err)
	return *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// places are all those below spec or status.
func places(root string) []place {
	schema := crdSchema().Properties[root]
	return below(place{path: root, schema: schema, with: func(value string) string { return value }})
}

// below are a place and all those inside it.
func below(p place) []place {
	found := []place{p}
	for _, name := range slices.Sorted(maps.Keys(p.schema.Properties)) {
		found = append(found, below(place{
			path:   p.path + "." + name,
			schema: p.schema.Properties[name],
			with:   func(value string) string { return p.with(smallestObject(p.schema, name, value)) },
		})...)
	}
	if p.schema.Items != nil {
		found = append(found, below(place{
			path:   p.path + "[0]",
			schema: *p.schema.Items.Schema,
			with:   func(value string) string { return p.with("[" + value + "]") },
		})...)
	}
	if p.schema.AdditionalProperties != nil {
		for _, key := range keysOf(p.path) {
			found = append(found, below(place{
				path:   p.path + "." + key,
				schema: *p.schema.AdditionalProperties.Schema,
				with:   func(value string) string { return p.with(fmt.Sprintf(`{%q: %s}`, key, value)) },
			})...)
		}
	}
	return found
}

// keysOf are the keys that a map may have.
func keysOf(path string) []string {
	if strings.HasPrefix(path, "spec.resources.") {
		return []string{"cpu", "ephemeral-storage", "memory"}
	}
	return []string{"k"}
}

// smallestObject has the required fields of its schema, and a field with the value given.
func smallestObject(schema apiextensionsv1.JSONSchemaProps, field, value string) string {
	members := []string{fmt.Sprintf("%q: %s", field, value)}
	for _, name := range schema.Required {
		if name != field {
			members = append(members, fmt.Sprintf("%q: %s", name, smallest(schema.Properties[name])))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// smallest is the JSON of a value that its schema allows.
func smallest(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(schema.Enum) > 0:
		return string(schema.Enum[0].Raw)
	case schema.Type == "object" && len(schema.Required) > 0:
		first := schema.Required[0]
		return smallestObject(schema, first, smallest(schema.Properties[first]))
	case schema.Type == "object":
		return `{}`
	case schema.Type == "array":
		return `[]`
	case len(schema.XValidations) > 0 && strings.Contains(schema.XValidations[0].Message, "IP addresses"):
		return `"10.0.0.0/8"`
	case schema.Format == "date-time":
		return `"2026-01-01T00:00:00Z"`
	case schema.Type == "string":
		return `"a"`
	default:
		return strconv.Itoa(1)
	}
}

// valueAt is the JSON of what a spec, given as YAML, has at the path of a place. Of a list it is the first element.
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
