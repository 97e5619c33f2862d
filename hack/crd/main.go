// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command crd expands the templates in the validation rules of a CustomResourceDefinition. The kubebuilder marker of a rule must be a
// single line, and CEL cannot define functions. An expression that is long, or that several rules need, is therefore a named template,
// and the marker only calls the template. Command crd also fits the schemas of Kubernetes' own types to this API.
//
// Usage: crd TEMPLATES CRD.
package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: crd TEMPLATES CRD")
		os.Exit(2)
	}
	if err := rewrite(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "crd:", err)
		os.Exit(1)
	}
}

// rewrite expands the templates in crdFile. Their definitions are in templatesFile.
func rewrite(templatesFile, crdFile string) error {
	templates, err := template.ParseFiles(templatesFile)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(crdFile)
	if err != nil {
		return err
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("%s: %w", crdFile, err)
	}
	fit(crd, 0)
	expanded, err := expand(templates, crd)
	if err != nil {
		return fmt.Errorf("%s: %w", crdFile, err)
	}
	if text, err = yaml.Marshal(expanded); err != nil {
		return err
	}
	return os.WriteFile(crdFile, append([]byte("---\n"), text...), 0o600)
}

var (
	// wrapped matches the end of a line within a paragraph, and the start of the next one.
	wrapped = regexp.MustCompile(`\n *([^-\n ])`)
	// sentences matches a description. Its group has the first sentences, in at most 240 bytes.
	sentences = regexp.MustCompile(`(?s)^(.{1,239}\.)\s+[-A-Z].*$`)
)

// kubernetesTypes are fields of the spec with Kubernetes' types in their fields or elements.
var kubernetesTypes = []string{"imagePullSecrets", "networkPolicy", "scheduling"}

// fit bounds each int32 in a schema: older API servers do not check this format, and a number that Go cannot decode would break the
// watch of all resources. It also joins the lines of descriptions, and shortens those of Kubernetes' types, so that the output of kubectl
// explain fits on a screen. level is 1 for one of kubernetesTypes, 2 for its fields or elements, and more below.
func fit(value any, level int) {
	switch value := value.(type) {
	case map[string]any:
		bound(value)
		if text, ok := value["description"].(string); ok {
			if text = wrapped.ReplaceAllString(text, " $1"); level > 2 && len(text) > 240 {
				text = sentences.ReplaceAllString(text, "$1")
			}
			value["description"] = text
		}
		for key := range value {
			below := level
			if slices.Contains(kubernetesTypes, key) || level > 0 && (key == "properties" || key == "items") {
				below++
			}
			fit(value[key], below)
		}
	case []any:
		for _, element := range value {
			fit(element, level)
		}
	}
}

func bound(schema map[string]any) {
	if schema["format"] == "int32" && schema["minimum"] == nil && schema["maximum"] == nil {
		schema["minimum"], schema["maximum"] = math.MinInt32, math.MaxInt32
	}
}

// expand executes each string in value that contains "{{" as a template, and replaces the string by the result.
func expand(templates *template.Template, value any) (any, error) {
	var err error
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			if value[key], err = expand(templates, value[key]); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	case []any:
		for i := range value {
			if value[i], err = expand(templates, value[i]); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case string:
		if strings.Contains(value, "{{") {
			return execute(templates, value)
		}
	}
	return value, nil
}

// execute returns the result of a template as a single line.
func execute(templates *template.Template, text string) (string, error) {
	templates, err := templates.Clone()
	if err != nil {
		return "", err
	}
	marker, err := templates.New("marker").Parse(text)
	if err != nil {
		return "", err
	}
	result := strings.Builder{}
	err = marker.Execute(&result, nil)
	return strings.Join(strings.Fields(result.String()), " "), err
}
