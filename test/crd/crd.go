// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package crd sets defaults in a custom resource and validates it like the API server, with the API server's own code.
package crd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// File is the path of the CustomResourceDefinition, relative to the root of the repository.
const File = "config/crd/bases/cache.example.com_memcacheds.yaml"

// Read reads a CustomResourceDefinition from a file.
func Read(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	return definition, yaml.UnmarshalStrict(text, definition)
}

// Schema is the schema of the first version in a CustomResourceDefinition.
type Schema struct {
	structural *structuralschema.Structural
	openapi    validation.SchemaValidator
	rules      *cel.Validator
}

// NewSchema compiles the schema of a CustomResourceDefinition.
func NewSchema(definition *apiextensionsv1.CustomResourceDefinition) (*Schema, error) {
	var props apiextensions.JSONSchemaProps
	v1 := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	openapi, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, err
	}
	return &Schema{structural, openapi, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Admit sets the defaults in the object. It returns why the API server would refuse the object.
func (s *Schema) Admit(object map[string]any) error {
	defaulting.Default(object, s.structural)
	errs := validation.ValidateCustomResource(nil, object, s.openapi)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(errs) == 0 {
		errs, _ = s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs.ToAggregate()
}

// Validate returns why the API server would refuse an object in JSON, or which unknown fields the API server would drop.
func (s *Schema) Validate(text []byte) error {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return err
	}
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	if unknown := pruning.PruneWithOptions(object, s.structural, true, options); len(unknown) > 0 {
		return fmt.Errorf("unknown fields: %s", strings.Join(unknown, ", "))
	}
	return s.Admit(object)
}

// Store returns the Memcached that the API server would store for a JSON text, with defaults. It fails if the API server would
// refuse the text, or if the text has unknown fields.
func (s *Schema) Store(text []byte) (*cachev1alpha1.Memcached, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	if err := s.Admit(object); err != nil {
		return nil, fmt.Errorf("would be refused: %w", err)
	}
	stored, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.DisallowUnknownFields()
	mc := &cachev1alpha1.Memcached{}
	if err := decoder.Decode(mc); err != nil {
		return nil, fmt.Errorf("decode what the schema allows: %w", err)
	}
	return mc, nil
}
