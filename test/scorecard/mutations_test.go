// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// loaded returns the bundle of the project, to change it.
func loaded(t *testing.T) *bundle {
	t.Helper()
	b, err := load(folder, config)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pod returns the pod template of the operator in a bundle, to change it.
func pod(b *bundle) *corev1.PodTemplateSpec {
	return &b.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template
}

func replaceExample(b *bundle, old, replacement string) {
	text := b.csv.Annotations["alm-examples"]
	b.csv.Annotations["alm-examples"] = strings.Replace(text, old, replacement, 1)
}

// owned returns the description of the kind Memcached in a bundle, to change it.
func owned(b *bundle) *operatorsv1alpha1.CRDDescription {
	return &b.csv.Spec.CustomResourceDefinitions.Owned[0]
}

// object returns the first object of a kind in a bundle, to change it.
func object(b *bundle, kind string) *unstructured.Unstructured {
	for _, object := range b.objects {
		if object.GetKind() == kind {
			return object
		}
	}
	return &unstructured.Unstructured{}
}

// mutation is a mistake in a bundle, and a part of what a test says of it.
type mutation struct {
	mutate func(*bundle)
	want   string
}

// Each mutation is a mistake that a test must find. The mutations also show what the tests can find at all.
func TestMistakesAreFound(t *testing.T) {
	all := map[string]map[string]mutation{
		"descriptors": descriptorMutations, "examples": exampleMutations, "images": imageMutations,
		"permissions": permissionMutations, "references": referenceMutations,
	}
	for test := range tests {
		for name, mutation := range all[test] {
			t.Run(test+"/"+name, func(t *testing.T) {
				b := loaded(t)
				mutation.mutate(b)
				if got := strings.Join(tests[test](b), "\n"); !strings.Contains(got, mutation.want) {
					t.Errorf("it says %q, want something with %q", got, mutation.want)
				}
			})
		}
		if len(all[test]) == 0 {
			t.Errorf("no mutation shows what the test %s finds", test)
		}
	}
}
