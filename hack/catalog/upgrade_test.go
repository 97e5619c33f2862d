// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations/property"
	"sigs.k8s.io/yaml"
)

// refused returns why OLM v1 would not upgrade one CustomResourceDefinition to another. It uses the library of OLM v1, with the
// configuration of operator-controller v1.11.0. The library refuses every change that it does not know, such as a change of a CEL rule.
func refused(t *testing.T, before, after *apiextensionsv1.CustomResourceDefinition) []string {
	t.Helper()
	preflight, err := runner.New(&config.Config{
		Conversion:           config.ConversionPolicyIgnore,
		UnhandledEnforcement: config.EnforcementPolicyError,
		Validations: []config.ValidationConfig{
			{Name: "description", Enforcement: config.EnforcementPolicyNone},
			{
				Name: "enum", Enforcement: config.EnforcementPolicyError,
				Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow},
			},
		},
	}, runner.DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	results := preflight.Run(before, after)
	var errs []string
	for _, result := range results.CRDValidation {
		errs = append(errs, result.Errors...)
	}
	for _, version := range slices.Concat(results.SameVersionValidation, results.ServedVersionValidation) {
		for _, comparison := range version.PropertyComparisons {
			for _, result := range comparison.ComparisonResults {
				for _, err := range result.Errors {
					errs = append(errs, comparison.Property+": "+result.Name+": "+err)
				}
			}
		}
	}
	return errs
}

// definition reads a CustomResourceDefinition. It adds a status that says that resources of the storage version exist.
func definition(t *testing.T, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), crd); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, version.Name)
		}
	}
	return crd
}

// OLM v1 must accept the upgrade of each definition from each released version to the version in preparation. The test also compares the
// version in preparation with itself, to show that the library knows every construct in the definitions.
func TestNoUpgradeOfADefinitionIsRefused(t *testing.T) {
	current := filepath.Join(root, "bundle")
	for _, folder := range append(foldersIn(t, filepath.Join(root, "catalog", "bundles")), current) {
		files, err := filepath.Glob(filepath.Join(folder, "manifests", "cache.example.com_*.yaml"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no definitions: %v", folder, err)
		}
		for _, file := range files {
			after := definition(t, filepath.Join(current, "manifests", filepath.Base(file)))
			for _, reason := range refused(t, definition(t, file), after) {
				t.Errorf("OLM v1 would refuse the upgrade from %s: %s: %s", filepath.Base(folder), after.Name, reason)
			}
		}
	}
}

var memcacheds = filepath.Join(root, "bundle", "manifests", "cache.example.com_memcacheds.yaml")

// Each mutation is a breaking change of the API.
func TestBreakingChangesAreRefused(t *testing.T) {
	type props = apiextensionsv1.JSONSchemaProps
	spec := func(crd *apiextensionsv1.CustomResourceDefinition, change func(*props)) {
		properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		of := properties["spec"]
		change(&of)
		properties["spec"] = of
	}
	field := func(name string, change func(*props)) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec(crd, func(of *props) {
				property := of.Properties[name]
				change(&property)
				of.Properties[name] = property
			})
		}
	}
	tests := map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"another scope":  func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = apiextensionsv1.ClusterScoped },
		"a version gone": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Name = "v1" },
		"a field gone": func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec(crd, func(of *props) { delete(of.Properties, "image") })
		},
		"a required field": func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec(crd, func(of *props) { of.Required = append(of.Required, "image") })
		},
		"another type":          field("size", func(p *props) { p.Type = "string" }),
		"a smaller maximum":     field("size", func(p *props) { p.Maximum = ptr.To(999.0) }),
		"a larger minimum":      field("size", func(p *props) { p.Minimum = ptr.To(1.0) }),
		"a shorter text":        field("image", func(p *props) { p.MaxLength = ptr.To(int64(100)) }),
		"a value of a set gone": field("imagePullPolicy", func(p *props) { p.Enum = p.Enum[1:] }),
		"another default": field("imagePullPolicy", func(p *props) {
			p.Default = &apiextensionsv1.JSON{Raw: []byte(`"Always"`)}
		}),
		"a default more": field("size", func(p *props) { p.Default = &apiextensionsv1.JSON{Raw: []byte("3")} }),
		"a default gone": field("imagePullPolicy", func(p *props) { p.Default = nil }),
		"another rule":   field("image", func(p *props) { p.XValidations[0].Rule = "self.size() < 100" }),
	}
	for name, mutate := range tests {
		t.Run(name, func(t *testing.T) {
			before := definition(t, memcacheds)
			after := before.DeepCopy()
			mutate(after)
			if len(refused(t, before, after)) == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// A release may add an optional field, widen a range, add a value to an enum, and change descriptions.
func TestCompatibleChangesAreNotRefused(t *testing.T) {
	before := definition(t, memcacheds)
	after := before.DeepCopy()
	properties := after.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	properties["fieldOfLater"] = apiextensionsv1.JSONSchemaProps{Type: "boolean"}
	size := properties["size"]
	size.Maximum, size.Description = ptr.To(2000.0), "More."
	properties["size"] = size
	policy := properties["imagePullPolicy"]
	policy.Enum = append(policy.Enum, apiextensionsv1.JSON{Raw: []byte(`"Sometimes"`)})
	properties["imagePullPolicy"] = policy
	if reasons := refused(t, before, after); len(reasons) > 0 {
		t.Errorf("refused: %s", strings.Join(reasons, "\n"))
	}
}
