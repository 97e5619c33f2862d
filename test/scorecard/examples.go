// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/test/crd"
)

// examples finds examples that the API server would refuse, or from which the operator cannot make objects. It also finds examples
// without a description, and descriptions without an example.
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

// tryExample returns the name of an example. It fails if the API server would refuse the example. If the example is a Memcached, it
// also fails if the operator could not make objects from it.
func tryExample(b *bundle, text []byte) (string, error) {
	var example metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &example); err != nil {
		return "?", err
	}
	schema, err := schemaOf(b, example.GroupVersionKind())
	if err != nil {
		return example.Name, err
	}
	if example.Kind != "Memcached" {
		return example.Name, schema.Validate(text) // the objects of a proxy depend on its pool
	}
	mc, err := schema.Store(text)
	if err != nil {
		return example.Name, err
	}
	plan := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), memcached.Options{
		DefaultImage: imageOf(b, "RELATED_IMAGE_MEMCACHED"), AgentImage: imageOf(b, memcached.AgentImageVariable),
	})
	if plan.Problem != nil {
		return example.Name, fmt.Errorf("the operator cannot carry it out: %s", plan.Problem.Message)
	}
	if len(plan.Objects) == 0 {
		return example.Name, errors.New("the operator makes nothing from it")
	}
	return example.Name, nil
}

func schemaOf(b *bundle, kind schema.GroupVersionKind) (*crd.Schema, error) {
	for _, definition := range b.crds {
		if kind == cachev1alpha1.GroupVersion.WithKind(definition.Spec.Names.Kind) {
			return crd.NewSchema(definition)
		}
	}
	return nil, fmt.Errorf("is a %s, which the bundle does not define", kind)
}

// imageOf returns the value of an environment variable of the operator in the bundle, or "" if there is none.
func imageOf(b *bundle, name string) string {
	for _, pod := range b.pods() {
		for _, container := range pod.Spec.Containers {
			for _, variable := range container.Env {
				if variable.Name == name {
					return variable.Value
				}
			}
		}
	}
	return ""
}
