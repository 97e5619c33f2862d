// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/memcached-operator/test/crd"
)

// kubernetesTypes matches fields of Kubernetes' own types, whose descriptions this package cannot change.
var kubernetesTypes = regexp.MustCompile(`^status\.conditions\[|^spec\.scheduling\.(affinity|tolerations|topologySpreadConstraints)[.[]`)

// kubernetesShapes matches fields of this package's copies of Kubernetes types.
var kubernetesShapes = regexp.MustCompile(`^spec\.networkPolicy\.(from|metricsFrom)[.[]`)

// ownFields returns the fields that this package names. It leaves out elements of lists and maps, and fields of Kubernetes' own
// types.
func ownFields() []crd.Place {
	fields := slices.Concat(places("spec"), places("status"))
	return slices.DeleteFunc(fields, func(p crd.Place) bool {
		element := strings.HasSuffix(p.Path, "[0]") || strings.HasSuffix(p.Path, ".k") || resourceName.MatchString(p.Path)
		return element || kubernetesTypes.MatchString(p.Path)
	})
}

var resourceName = regexp.MustCompile(`^spec\.resources\.(limits|requests)\.`)

// kubectl explain shows the descriptions to users.
func TestEveryFieldIsDocumented(t *testing.T) {
	sentence := regexp.MustCompile(`(?s)^[a-zA-Z]+:? \w.{8,}\.$`)
	fields := ownFields()
	if len(fields) < 50 {
		t.Fatalf("only %d fields were found", len(fields))
	}
	for _, field := range fields {
		name := field.Path[strings.LastIndex(field.Path, ".")+1:]
		text := field.Schema.Description
		if first := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ':' }); len(first) == 0 || first[0] != name {
			t.Errorf("%s: the description must start with %s: %q", field.Path, name, text)
		}
		if !sentence.MatchString(text) || strings.Contains(text, "+kubebuilder") || strings.Contains(text, "TODO") {
			t.Errorf("%s: the description must be sentences for users: %q", field.Path, text)
		}
	}
	if text := crdSchema().Description; !strings.HasPrefix(text, "Memcached is ") {
		t.Errorf("the description of the kind must say what it is: %q", text)
	}
}

// A rule without a message shows its CEL expression to the user. A rule with the message of another field misleads.
func TestEveryRuleNamesItsField(t *testing.T) {
	shared := regexp.MustCompile(`^spec\.(podMetadata|service|networkPolicy\.(from|metricsFrom))\b`)
	check := func(path string, rules apiextensionsv1.ValidationRules) {
		for _, rule := range rules {
			inSharedType := shared.MatchString(path) && regexp.MustCompile(`\b(labels?|annotations|ipBlock|metricsFrom)\b`).MatchString(rule.Message)
			if !inSharedType && !strings.Contains(rule.Message, path) {
				t.Errorf("%s: the message does not name the field: %q", path, rule.Message)
			}
			if rule.MessageExpression != "" && !strings.Contains(rule.MessageExpression, path) {
				t.Errorf("%s: the message expression does not name the field: %q", path, rule.MessageExpression)
			}
			if len(rule.Message) < 30 {
				t.Errorf("%s: the message does not tell the fix: %q", path, rule.Message)
			}
		}
	}
	check("metadata.name", crdSchema().XValidations)
	for _, place := range slices.Concat(places("spec"), places("status")) {
		check(strings.ReplaceAll(place.Path, "[0]", "[]"), place.Schema.XValidations)
	}
}

// Tests rely on testdata/every_field.yaml to set every field.
func TestEveryFieldHasAnExample(t *testing.T) {
	sample := everyField()
	for _, field := range ownFields() {
		excluded := field.Path == "spec.podDisruptionBudget.minAvailable" || // the sample has maxUnavailable instead
			field.Path == "spec.updateStrategy.maxSurge" || // the sample has a StatefulSet
			strings.HasPrefix(field.Path, "spec.fillFrom") || // the sample has auth
			kubernetesShapes.MatchString(field.Path)
		if excluded || !strings.HasPrefix(field.Path, "spec.") {
			continue
		}
		value := valueAt(sample, field.Path)
		if value == "" {
			t.Errorf("%s has no value", field.Path)
		}
		if field.Schema.Default != nil && value == string(field.Schema.Default.Raw) {
			t.Errorf("%s has its default, %s", field.Path, value)
		}
	}
}
