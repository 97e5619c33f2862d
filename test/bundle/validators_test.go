// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/interfaces"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/test/repository"
)

// findings returns the errors and warnings that the validators of the Operator Framework report about a bundle. It leaves out four
// of the validators.
func findings(t *testing.T, bundle *manifests.Bundle) (errs, warnings []string) {
	t.Helper()
	version := fmt.Sprintf("1.%d", repository.NewestKubernetes(t))
	// MultipleArchitecturesValidator pulls images. CommunityOperatorValidator checks catalogs of old OpenShift versions. The last two
	// check objects that no bundle has.
	left := []validator.Validator{
		validation.MultipleArchitecturesValidator, validation.CommunityOperatorValidator,
		validation.PackageManifestValidator, validation.OperatorGroupValidator,
	}
	for _, candidate := range validation.AllValidators {
		if slices.ContainsFunc(left, func(other validator.Validator) bool { return same(candidate, other) }) {
			continue
		}
		objects := append(bundle.ObjectsToValidate(), map[string]string{"k8s-version": version})
		for _, result := range candidate.Validate(objects...) {
			for _, err := range result.Errors {
				errs = append(errs, err.Error())
			}
			for _, warning := range result.Warnings {
				warnings = append(warnings, warning.Error())
			}
		}
	}
	return errs, warnings
}

func same(a, b validator.Validator) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func TestNoValidatorFindsAnything(t *testing.T) {
	errs, warnings := findings(t, bundle(t))
	for _, finding := range slices.Concat(errs, warnings) {
		t.Error(finding)
	}
}

// Each mutation is a mistake that a validator must find. This proves that the validators run on the right objects.
func TestValidatorsFindMistakes(t *testing.T) {
	tests := map[string]struct {
		mutate func(*manifests.Bundle)
		want   string
	}{
		"default": {
			func(b *manifests.Bundle) { b.CSV.Spec.CustomResourceDefinitions.Owned = nil }, "not defined in CSV",
		},
		"operatorhub": {
			func(b *manifests.Bundle) { b.CSV.Spec.Maintainers[0].Email = "nobody" }, "email nobody is invalid",
		},
		"categories": {
			func(b *manifests.Bundle) { b.CSV.Annotations["categories"] = "Caches" }, "Caches",
		},
		"capabilities": {
			func(b *manifests.Bundle) { b.CSV.Annotations["capabilities"] = "Everything" }, "Everything",
		},
		"good practices": {
			func(b *manifests.Bundle) {
				b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Resources.Requests = nil
			}, "resource requests",
		},
		"removed APIs": {
			func(b *manifests.Bundle) {
				role := &unstructured.Unstructured{}
				role.SetAPIVersion("rbac.authorization.k8s.io/v1beta1")
				role.SetKind("ClusterRole")
				b.Objects = append(b.Objects, role)
			}, "removed in v1.22",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := bundle(t)
			test.mutate(b)
			errs, warnings := findings(t, b)
			found := strings.Join(slices.Concat(errs, warnings), "\n")
			if !strings.Contains(found, test.want) {
				t.Errorf("found %q, want something with %q", found, test.want)
			}
		})
	}
}
