// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// boundedByTheMap matches values of maps. They need no bound of their own, because a rule of the map limits their length.
var boundedByTheMap = regexp.MustCompile(`^spec\.resources\.(limits|requests)\.`)

// unbounded matches the fields with the content of Kubernetes' own types, which have no bounds.
var unbounded = regexp.MustCompile(`^spec\.scheduling\.(nodeSelector|tolerations|affinity|topologySpreadConstraints)\b`)

// Without a bound, a text, list or map can be as large as a request, and each watcher keeps it in memory.
func TestEveryTextAndListOfTheSpecIsBounded(t *testing.T) {
	checked := 0
	for _, place := range places("spec") {
		if unbounded.MatchString(place.Path) {
			continue
		}
		schema := place.Schema
		text := schema.XIntOrString || schema.Type == "string" && len(schema.Enum) == 0
		switch {
		case text && schema.MaxLength == nil && len(schema.XValidations) == 0 && !boundedByTheMap.MatchString(place.Path):
			t.Errorf("%s: a text without maxLength", place.Path)
		case schema.Type == "array" && schema.MaxItems == nil:
			t.Errorf("%s: a list without maxItems", place.Path)
		case schema.AdditionalProperties != nil && schema.MaxProperties == nil:
			t.Errorf("%s: a map without maxProperties", place.Path)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("only %d places were found", checked)
	}
}

// Older API servers do not check the format int32. Without bounds, they would accept numbers that Go cannot decode: see
// decoding_test.go.
func TestEveryInt32IsBounded(t *testing.T) {
	checked := 0
	for _, place := range slices.Concat(places("spec"), places("status")) {
		if place.Schema.Format != "int32" {
			continue
		}
		checked++
		lowest, highest := place.Schema.Minimum, place.Schema.Maximum
		if lowest == nil || *lowest < math.MinInt32 || highest == nil || *highest > math.MaxInt32 {
			t.Errorf("%s: an int32 without minimum and maximum", place.Path)
		}
	}
	if checked < 10 {
		t.Errorf("only %d places were found", checked)
	}
}

// many returns a YAML list with count elements. In each element, which is a copy of thing, the index replaces %d.
func many(count int, thing string) string {
	things := make([]string, count)
	for i := range things {
		things[i] = strings.ReplaceAll(thing, "%d", strconv.Itoa(i))
	}
	return "[" + strings.Join(things, ", ") + "]"
}
