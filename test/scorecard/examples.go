// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
)

// examples finds examples that a user could not create: the API does not know a field, the schema or one of its rules refuses
// it, or the operator cannot make objects from it. Each example needs a description.
func examples(b *bundle) []string {
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(b.csv.Annotations["alm-examples"]), &all); err != nil {
		return []string{"alm-examples is no list of resources: " + err.Error()}
	}
	if len(all) == 0 {
		return []string{"alm-examples is empty: give an example of each kind"}
	}
	var descriptions map[string]struct{ Description string }
	if err := json.Unmarshal([]byte(b.csv.Annotations["alm-examples-metadata"]), &descriptions); err != nil {
		return []string{"alm-examples-metadata is no map of descriptions: " + err.Error()}
	}
	var wrong []string
	for _, text := range all {
		name, err := tryExample(b, text)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("the example %s: %v", name, err))
		}
		if descriptions[name].Description == "" {
			wrong = append(wrong, fmt.Sprintf("the example %s has no description in alm-examples-metadata", name))
		}
		delete(descriptions, name)
	}
	for name := range descriptions {
		wrong = append(wrong, fmt.Sprintf("alm-examples-metadata describes %s, which is no example", name))
	}
	return wrong
}

// tryExample handles an example as the API server and the operator would, and returns its name.
func tryExample(b *bundle, text []byte) (string, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return "?", err
	}
	mc := &cachev1alpha1.Memcached{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(mc); err != nil {
		return mc.Name, fmt.Errorf("is no Memcached: %w", err)
	}
	if mc.GroupVersionKind() != cachev1alpha1.GroupVersion.WithKind("Memcached") {
		return mc.Name, fmt.Errorf("is a %s, want a %s", mc.GroupVersionKind(), cachev1alpha1.GroupVersion.WithKind("Memcached"))
	}
	if err := admit(b.crds[0], object); err != nil {
		return mc.Name, fmt.Errorf("would be refused: %w", err)
	}
	stored, err := json.Marshal(object)
	if err != nil {
		return mc.Name, err
	}
	if err := json.Unmarshal(stored, mc); err != nil {
		return mc.Name, err
	}
	wanted, err := desired.For(mc, memcached.Observed{}, memcached.Options{DefaultImage: defaultImage(b)})
	if err != nil {
		return mc.Name, fmt.Errorf("the operator cannot carry it out: %w", err)
	}
	if len(wanted.Objects) == 0 {
		return mc.Name, errors.New("the operator makes nothing from it")
	}
	return mc.Name, nil
}

// defaultImage returns the image that the operator of the bundle gives to a Memcached without one.
func defaultImage(b *bundle) string {
	for _, pod := range b.pods() {
		for _, container := range pod.Spec.Containers {
			for _, variable := range container.Env {
				if variable.Name == "RELATED_IMAGE_MEMCACHED" {
					return variable.Value
				}
			}
		}
	}
	return ""
}

// admit sets the defaults in an object and validates it, with the API server's own code.
func admit(crd *apiextensionsv1.CustomResourceDefinition, object map[string]any) error {
	var props apiextensions.JSONSchemaProps
	v1 := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &props, nil); err != nil {
		return err
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return err
	}
	openapi, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return err
	}
	defaulting.Default(object, structural)
	errs := validation.ValidateCustomResource(nil, object, openapi)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	if len(errs) == 0 {
		rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
		errs, _ = rules.Validate(context.Background(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs.ToAggregate()
}
