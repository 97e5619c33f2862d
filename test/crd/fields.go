// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Field is a field of the spec that is a map or has no subfields.
type Field struct {
	// Path is a path such as spec.scheduling.tolerations[].key, or spec.service.labels{} for a map.
	Path string
	// Spec returns the JSON of the smallest spec in which the field has the value. The value is JSON, too.
	Spec func(value string) string
}

// SpecFields returns the fields of the spec in a CustomResourceDefinition. Field.Spec leaves out the fields that are required at the
// top level of the spec.
func SpecFields(definition *apiextensionsv1.CustomResourceDefinition) []Field {
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Required = nil
	var fields []Field
	lastMap := "none."
	for _, place := range Places("spec", spec) {
		path := strings.ReplaceAll(place.Path, "[0]", "[]")
		switch {
		case strings.HasPrefix(place.Path, lastMap):
		case place.Schema.AdditionalProperties != nil:
			lastMap = place.Path + "."
			fields = append(fields, Field{path + "{}", place.With})
		case place.Schema.Items == nil && len(place.Schema.Properties) == 0:
			fields = append(fields, Field{path, place.With})
		}
	}
	return fields
}
