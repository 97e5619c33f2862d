// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Place is a field, an element of an array, or a value of a map in a schema.
type Place struct {
	// Path has the form that the API server prints, such as spec.scheduling.tolerations[0].key. Maps in spec.resources and
	// spec.agent.resources have names of resources as keys, and all other maps have the key k.
	Path   string
	Schema apiextensionsv1.JSONSchemaProps
	// With returns JSON for the schema that was passed to Places. The JSON has the given value in this place, and otherwise only
	// required fields.
	With func(value string) string
}

// Places returns the place with this path and schema, and all places inside it.
func Places(path string, schema apiextensionsv1.JSONSchemaProps) []Place {
	return below(Place{Path: path, Schema: schema, With: func(value string) string { return value }})
}

func below(p Place) []Place {
	found := []Place{p}
	add := func(step string, schema apiextensionsv1.JSONSchemaProps, with func(value string) string) {
		found = append(found, below(Place{
			Path: p.Path + step, Schema: schema, With: func(value string) string { return p.With(with(value)) },
		})...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Schema.Properties)) {
		add("."+name, p.Schema.Properties[name], func(value string) string { return smallestObject(p.Schema, name, value) })
	}
	if p.Schema.Items != nil {
		add("[0]", *p.Schema.Items.Schema, func(value string) string { return "[" + value + "]" })
	}
	if p.Schema.AdditionalProperties != nil {
		for _, key := range keysOf(p.Path) {
			add("."+key, *p.Schema.AdditionalProperties.Schema, func(value string) string { return fmt.Sprintf(`{%q: %s}`, key, value) })
		}
	}
	return found
}

// keysOf returns the keys that Places uses for the map at this path.
func keysOf(path string) []string {
	if strings.HasPrefix(path, "spec.resources.") || strings.HasPrefix(path, "spec.agent.resources.") {
		return []string{"cpu", "ephemeral-storage", "memory"}
	}
	return []string{"k"}
}

// smallestObject returns the JSON of an object with this value in the field, and with small values in the other required fields.
func smallestObject(schema apiextensionsv1.JSONSchemaProps, field, value string) string {
	members := []string{fmt.Sprintf("%q: %s", field, value)}
	for _, name := range schema.Required {
		if name != field {
			members = append(members, fmt.Sprintf("%q: %s", name, Smallest(schema.Properties[name])))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// Smallest returns the JSON of a small value that the schema allows.
func Smallest(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(schema.Enum) > 0:
		return string(schema.Enum[0].Raw)
	case schema.Type == "object" && len(schema.Required) > 0:
		first := schema.Required[0]
		return smallestObject(schema, first, Smallest(schema.Properties[first]))
	case schema.Type == "object":
		return `{}`
	case schema.Type == "array":
		return "[" + Smallest(*schema.Items.Schema) + "]"
	case schema.Format == "date-time":
		return `"2026-01-01T00:00:00Z"`
	case schema.Type == "string":
		return `"a"`
	default:
		return `1`
	}
}
