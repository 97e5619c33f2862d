// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command crd expands the templates in the validation rules of a CustomResourceDefinition. The kubebuilder marker of a rule must be a
// single line, and CEL cannot define functions. An expression that is long, or that several rules need, is therefore a named template,
// and the marker only calls the template.
//
// Usage: crd TEMPLATES CRD.
package main

import (
	"fmt"
	"os"
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
	expanded, err := expand(templates, crd)
	if err != nil {
		return fmt.Errorf("%s: %w", crdFile, err)
	}
	if text, err = yaml.Marshal(expanded); err != nil {
		return err
	}
	return os.WriteFile(crdFile, append([]byte("---\n"), text...), 0o600)
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
