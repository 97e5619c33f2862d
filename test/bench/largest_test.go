// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/memcached-operator/internal/memcached"
)

func TestLargestIsAlmostTooLarge(t *testing.T) {
	mc := largest("default", "cache")
	for name, annotations := range map[string]map[string]string{
		"the Memcached": mc.Annotations, "pods": mc.Spec.PodMetadata.Annotations, "the Service": mc.Spec.Service.Annotations,
	} {
		total := 0
		for key, value := range annotations {
			total += len(key) + len(value)
		}
		most := apimachineryvalidation.TotalAnnotationSizeLimitB
		if total > most-reserve || total < most-2*reserve {
			t.Errorf("the annotations of %s have %d bytes, of %d that they may have", name, total, most)
		}
		if errs := apimachineryvalidation.ValidateAnnotations(annotations, field.NewPath(name)); len(errs) > 0 {
			t.Error(errs.ToAggregate())
		}
	}
	for key := range mc.Spec.PodMetadata.Labels {
		if messages := validation.IsQualifiedName(key); len(messages) > 0 || len(key) != 253-2+1+63 {
			t.Errorf("a key has %d characters: %v", len(key), messages)
		}
	}
	if _, err := memcached.Desired(mc, memcached.Observed{}, memcached.Options{DefaultImage: "memcached"}); err != nil {
		t.Errorf("it has no children: %v", err)
	}
}

// TestMemoryLimit compares what is in the manifest with what the operator is known to need.
func TestMemoryLimit(t *testing.T) {
	t.Chdir("../..")
	limit, err := memoryLimit()
	if err != nil {
		t.Fatal(err)
	}
	if limit <= mostResident {
		t.Errorf("the limit of %g MiB is not above the %d MiB that the operator may need", limit, mostResident)
	}
}
