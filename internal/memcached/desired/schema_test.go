// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const crdFile = "../../../config/crd/bases/cache.example.com_memcacheds.yaml"

// crdSchema does with a Memcached what the API server does before it stores one, with the API server's own code.
type crdSchema struct {
	structural *structuralschema.Structural
	openapi    validation.SchemaValidator
	rules      *cel.Validator
}

var loadSchema = sync.OnceValues(func() (*crdSchema, error) {
	text, err := os.ReadFile(crdFile)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, err
	}
	var props apiextensions.JSONSchemaProps
	v1 := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
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
	return &crdSchema{structural, openapi, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
})

func apiServer(t testing.TB) *crdSchema {
	t.Helper()
	s, err := loadSchema()
	if err != nil {
		t.Fatalf("load %s: %v", crdFile, err)
	}
	return s
}

// store returns the Memcached that the API server would store for a JSON text; an error says that it would refuse it, or
// that the text has fields which the API does not have.
func (s *crdSchema) store(text []byte) (*cachev1alpha1.Memcached, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	defaulting.Default(object, s.structural)
	if errs := s.validate(object); len(errs) > 0 {
		return nil, errs.ToAggregate()
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

func (s *crdSchema) validate(object map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, object, s.openapi)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(errs) > 0 {
		return errs
	}
	errs, _ = s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return errs
}

// stored reads a Memcached in YAML, as the API server would store it.
func stored(t testing.TB, text []byte) *cachev1alpha1.Memcached {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	mc, err := apiServer(t).store(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	return mc
}
