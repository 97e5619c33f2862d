// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/repository"
)

// schema returns the schema of a Memcached.
var schema = sync.OnceValue(func() apiextensionsv1.JSONSchemaProps {
	definition, err := crd.Read(repository.Path(crd.File))
	utilruntime.Must(err)
	return *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
})

// places returns all places in the spec and the status.
func places() []crd.Place {
	properties := schema().Properties
	return slices.Concat(crd.Places("spec", properties["spec"]), crd.Places("status", properties["status"]))
}

var (
	// kubernetesTypes matches fields of Kubernetes' own types. This package can neither bound nor describe them.
	kubernetesTypes = regexp.MustCompile(`^status\.conditions\[|^spec\.scheduling\.(affinity|tolerations|topologySpreadConstraints)[.[]|` +
		`^spec\.networkPolicy\.(from|metricsFrom)\[|^spec\.imagePullSecrets\[`)
	// kubernetesContent matches the fields whose content has Kubernetes' own types.
	kubernetesContent = regexp.MustCompile(`^spec\.scheduling\.(nodeSelector|affinity|tolerations|topologySpreadConstraints)\b|` +
		`^spec\.networkPolicy\.(from|metricsFrom)\b|^spec\.imagePullSecrets\[`)
	resourceName = regexp.MustCompile(`^spec\.((agent|proxy)\.)?resources\.(limits|requests)\.`)
)

// ownFields returns the fields that this package names. It leaves out elements of lists and maps, and fields of Kubernetes' own
// types.
func ownFields() []crd.Place {
	return slices.DeleteFunc(places(), func(p crd.Place) bool {
		element := strings.HasSuffix(p.Path, "[0]") || strings.HasSuffix(p.Path, ".k") || resourceName.MatchString(p.Path)
		return element || kubernetesTypes.MatchString(p.Path)
	})
}

// kubectl explain shows the descriptions to users.
func TestEveryFieldIsDocumented(t *testing.T) {
	sentence := regexp.MustCompile(`(?s)^[a-zA-Z]+:? \w.{8,}\.$`)
	for _, field := range ownFields() {
		name := field.Path[strings.LastIndex(field.Path, ".")+1:]
		text := field.Schema.Description
		if first := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ':' }); len(first) == 0 || first[0] != name {
			t.Errorf("%s: the description must start with %s: %q", field.Path, name, text)
		}
		if !sentence.MatchString(text) || strings.Contains(text, "+kubebuilder") || strings.Contains(text, "TODO") {
			t.Errorf("%s: the description must be sentences for users: %q", field.Path, text)
		}
	}
	if text := schema().Description; !strings.HasPrefix(text, "Memcached is ") {
		t.Errorf("the description of the kind must say what it is: %q", text)
	}
}

// A rule without a message shows its CEL expression to the user. A rule with the message of another field misleads.
func TestEveryRuleNamesItsField(t *testing.T) {
	shared := regexp.MustCompile(`^spec\.(podMetadata|service|resources|(agent|proxy)\.resources)\b`)
	check := func(path string, rules apiextensionsv1.ValidationRules) {
		for _, rule := range rules {
			inSharedType := shared.MatchString(path) && regexp.MustCompile(`\b(labels?|annotations|resources\.(limits|requests))\b`).MatchString(rule.Message)
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
	for _, rule := range schema().XValidations {
		check(strings.TrimPrefix(rule.FieldPath, "."), apiextensionsv1.ValidationRules{rule})
	}
	for _, place := range places() {
		check(strings.ReplaceAll(place.Path, "[0]", "[]"), place.Schema.XValidations)
	}
}

// Without a bound, a text, list or map can be as large as a request, and each watcher keeps it in memory. Older API servers do not
// check the format int32. Without bounds, they would accept numbers that Go cannot decode: see decoding_test.go.
func TestEverythingIsBounded(t *testing.T) {
	for _, place := range places() {
		schema := place.Schema
		lowest, highest := schema.Minimum, schema.Maximum
		if schema.Format == "int32" && (lowest == nil || *lowest < math.MinInt32 || highest == nil || *highest > math.MaxInt32) {
			t.Errorf("%s: an int32 without minimum and maximum", place.Path)
		}
		if !strings.HasPrefix(place.Path, "spec") || kubernetesContent.MatchString(place.Path) {
			continue
		}
		text := schema.XIntOrString || schema.Type == "string" && len(schema.Enum) == 0
		switch {
		case text && schema.MaxLength == nil && len(schema.XValidations) == 0 && !resourceName.MatchString(place.Path): // a rule of the map bounds these
			t.Errorf("%s: a text without maxLength", place.Path)
		case schema.Type == "array" && schema.MaxItems == nil:
			t.Errorf("%s: a list without maxItems", place.Path)
		case schema.AdditionalProperties != nil && schema.MaxProperties == nil:
			t.Errorf("%s: a map without maxProperties", place.Path)
		}
	}
}

// Tests rely on testdata/every_field.yaml to set every field.
func TestEveryFieldHasAnExample(t *testing.T) {
	sample := everyField()
	for _, field := range ownFields() {
		if !strings.HasPrefix(field.Path, "spec.") || field.Path == "spec.copies" || strings.HasPrefix(field.Path, "spec.proxy") {
			continue // the sample has auth instead
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

// valueAt returns the value at a path in a spec as JSON, or an empty text. The spec is YAML. In a list, valueAt takes the first
// element.
func valueAt(spec, path string) string {
	var value any
	utilruntime.Must(yaml.Unmarshal([]byte(spec), &value))
	for _, step := range strings.Split(strings.ReplaceAll(path, "[0]", ".[0]"), ".")[1:] {
		switch parent := value.(type) {
		case []any:
			value = parent[0]
		case map[string]any:
			value = parent[step]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	utilruntime.Must(err)
	return string(text)
}
