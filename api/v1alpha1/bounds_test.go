// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"regexp"
	"testing"
)

// boundedByTheMap are values whose length a rule of their map bounds.
var boundedByTheMap = regexp.MustCompile(`^spec\.resources\.(limits|requests)\.|^spec\.scheduling\.nodeSelector\.k$`)

// What has no bound is as large as a request may be, and each watcher keeps it. Rules bound the keys of maps, and sums: that they
// do is proven by test/largest.
func TestEveryTextAndListOfTheSpecIsBounded(t *testing.T) {
	checked := 0
	for _, place := range places("spec") {
		schema := place.schema
		text := schema.XIntOrString || schema.Type == "string" && len(schema.Enum) == 0
		switch {
		case text && schema.MaxLength == nil && len(schema.XValidations) == 0 && !boundedByTheMap.MatchString(place.path):
			t.Errorf("%s: a text without maxLength", place.path)
		case schema.Type == "array" && schema.MaxItems == nil:
			t.Errorf("%s: a list without maxItems", place.path)
		case schema.AdditionalProperties != nil && schema.MaxProperties == nil:
			t.Errorf("%s: a map without maxProperties", place.path)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("only %d places were found", checked)
	}
}
