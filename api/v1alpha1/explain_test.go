// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/memcached-operator/test/crd"
)

// ruledBounds maps fields to bounds that the function bounds does not find, because rules or types enforce them.
var ruledBounds = map[string][]string{
	"spec.config.memory":                      {"64Mi", "1Ti"},
	"spec.config.maxItemSize":                 {"512Ki", "1Gi"},
	"spec.config.idleTimeout":                 {"1s", "720h"},
	"spec.resources.limits":                   {`"0.5"`, "a plain 0.5 is rejected"},
	"spec.resources.requests":                 {`"0.5"`, "a plain 0.5 is rejected"},
	"spec.agent.resources.limits":             {`"0.5"`, "a plain 0.5 is rejected"},
	"spec.proxy.resources.limits":             {`"0.5"`, "a plain 0.5 is rejected"},
	"spec.podDisruptionBudget.maxUnavailable": {"0", "1000", "0%", "100%"},
	"spec.updateStrategy.maxUnavailable":      {"0", "1000", "0%", "100%"},
}

// computedDefaults maps fields to defaults that the operator or the cluster computes, and that are not in the schema.
var computedDefaults = map[string]string{
	"spec.paused":                               "false",
	"spec.storage.type":                         "Memory",
	"spec.restartedAt":                          "no restart",
	"spec.replacedAt":                           "no replacement",
	"spec.image":                                "the image that the operator was installed with",
	"spec.config.threads":                       "the CPU limit rounded up, or 4 without a CPU limit",
	"spec.config.idleTimeout":                   "10m with spec.tls or spec.auth",
	"spec.service.ipFamilyPolicy":               "the cluster's",
	"spec.podDisruptionBudget.maxUnavailable":   "1",
	"spec.updateStrategy.maxUnavailable":        "1, or 0 for a Deployment with a size of 1",
	"spec.updateStrategy.podUpdatePolicy":       "Recreate",
	"spec.networkPolicy.metricsFrom":            "all pods of the namespace",
	"spec.networkPolicy.from":                   "all pods of the namespace",
	"spec.resources.requests":                   "the limits",
	"spec.agent.resources":                      "24Mi of memory, or 32Mi with tls or auth, and a request of 10m CPU",
	"spec.agent.resources.requests":             "the limits",
	"spec.proxy.size":                           "2",
	"spec.proxy.threads":                        "the CPU limit rounded up, or 1 without a CPU limit",
	"spec.proxy.resources.requests":             "the limits",
	"spec.scheduling.priorityClassName":         "the cluster's",
	"spec.scheduling.topologySpreadConstraints": "a soft spread (ScheduleAnyway) over hosts and over zones",
}

// kubectl explain shows descriptions, but no defaults and bounds. So the descriptions must name them.
func TestDescriptionsNameDefaultsAndBounds(t *testing.T) {
	rows := len(ruledBounds) + len(computedDefaults)
	for _, field := range ownFields() {
		if !strings.HasPrefix(field.Path, "spec.") || notOffered.MatchString(field.Path+"[") {
			continue
		}
		text := oneLine(field.Schema.Description)
		for _, bound := range slices.Concat(bounds(field.Schema), ruledBounds[field.Path]) {
			if !regexp.MustCompile(`(^|[ :])` + regexp.QuoteMeta(bound) + `([ ,.:]|$)`).MatchString(text) {
				t.Errorf("%s: the description does not name the bound %s: %q", field.Path, bound, text)
			}
		}
		if fallback := defaultOf(field); fallback != "" && !defaultIs(fallback).MatchString(text) {
			t.Errorf("%s: the description does not say that the default is %s: %q", field.Path, fallback, text)
		} else if fallback == "" && isLeaf(field.Schema) && !isRequired(field) {
			t.Errorf("%s: a row of computedDefaults is missing", field.Path)
		}
		if ruledBounds[field.Path] != nil {
			rows--
		}
		if computedDefaults[field.Path] != "" {
			rows--
		}
	}
	if rows != 0 {
		t.Errorf("%d rows of ruledBounds and computedDefaults are about fields that do not exist", rows)
	}
}

// defaultIs matches a sentence, or a part of a sentence, that names a default.
func defaultIs(value string) *regexp.Regexp {
	return regexp.MustCompile(`\b[Tt]he default(, [^.]*,)? is ` + regexp.QuoteMeta(value) + `[.,;:]`)
}

// defaultOf returns the default of a field, as its description must name it, or an empty text.
func defaultOf(field crd.Place) string {
	if field.Schema.Default == nil || !isLeaf(field.Schema) {
		return computedDefaults[field.Path]
	}
	return strings.Trim(string(field.Schema.Default.Raw), `"`)
}

func isLeaf(schema apiextensionsv1.JSONSchemaProps) bool {
	return schema.Type != "object" && schema.Type != "array"
}

func isRequired(field crd.Place) bool {
	dot := strings.LastIndex(field.Path, ".")
	for _, parent := range places() {
		if parent.Path == field.Path[:dot] {
			return slices.Contains(parent.Schema.Required, field.Path[dot+1:])
		}
	}
	return false
}

// TestExplainFitsOnAScreen counts the lines of kubectl explain for each struct. The output has 12 lines more than the fields, and each
// field has a line with its name and one that is empty. The spec has too many fields for 60 lines.
func TestExplainFitsOnAScreen(t *testing.T) {
	for _, place := range places() {
		schema, limit := place.Schema, 60
		if schema.Items != nil {
			schema.Properties = schema.Items.Schema.Properties
		}
		if place.Path == "spec" {
			limit = 97
		}
		lines := 12 + wrappedLines(schema.Description)
		for _, field := range schema.Properties {
			lines += 2 + wrappedLines(field.Description) + min(len(field.Enum), 1)
		}
		if len(schema.Properties) > 0 && lines > limit {
			t.Errorf("kubectl explain of %s has %d lines, more than %d", place.Path, lines, limit)
		}
	}
}

// wrappedLines returns how many lines of at most 76 characters a text needs.
func wrappedLines(text string) int {
	lines := 0
	for paragraph := range strings.SplitSeq(text, "\n") {
		width := 77
		for word := range strings.FieldsSeq(paragraph) {
			if width += 1 + len(word); width > 76 {
				lines, width = lines+1, len(word)
			}
		}
	}
	return lines
}

// bounds returns the bounds of a field, and of the elements of a list or map.
func bounds(schema apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	for _, bound := range []*float64{schema.Minimum, schema.Maximum} {
		if bound != nil {
			found = append(found, strconv.FormatFloat(*bound, 'f', -1, 64))
		}
	}
	for _, bound := range []*int64{schema.MaxLength, schema.MinItems, schema.MaxItems, schema.MaxProperties} {
		if bound != nil && schema.Format == "" { // a format such as date-time already limits the length
			found = append(found, strconv.FormatInt(*bound, 10))
		}
	}
	if schema.Items != nil && isLeaf(*schema.Items.Schema) {
		found = append(found, bounds(*schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil {
		found = append(found, bounds(*schema.AdditionalProperties.Schema)...)
	}
	return found
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
