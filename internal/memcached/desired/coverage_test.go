// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/repository"
)

// values are the values to try for each field, in this order, until the API server accepts one and the operator can carry out the spec.
var values = []string{
	`true`, `1`, `64`, `"64Mi"`, `"1Mi"`, `"10m"`, `"2026-01-01T00:00:00Z"`, `"memcached"`, `{"team": "a"}`, `{"memory": "1Gi"}`, `{}`,
	`"10.0.0.0/8"`, `"10.1.0.0/16"`, `"Exists"`, `"In"`, `"Always"`, `"SingleStack"`, `"Honor"`, `"NoExecute"`, `"DoNotSchedule"`,
	`"StatefulSet"`, `"Require"`, `"1.3"`, `"Enabled"`, `"Restart"`, `"Manual"`, `"MemoryFile"`, `"Memory"`, `"ReCreate"`,
	`"InPlaceIfPossible"`,
}

// TestDesiredOfEveryField sets each field of the spec, once with each Kind of workload. The random specs of other tests rarely set
// nested fields.
func TestDesiredOfEveryField(t *testing.T) {
	definition, err := crd.Read(repository.Path(crd.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []cachev1alpha1.WorkloadKind{deploymentKind, statefulSetKind} {
		for _, field := range crd.SpecFields(definition) {
			if refused(kind, field) {
				continue
			}
			t.Run(string(kind)+"/"+field.Path, func(t *testing.T) {
				t.Parallel()
				accepted := slices.ContainsFunc(values, func(value string) bool {
					mc := storedWith(t, kind, field, value)
					return mc != nil && checkDesired(t, mc)
				})
				if !accepted {
					t.Error("none of the values is accepted: add one")
				}
			})
		}
	}
}

// refused reports whether the API server refuses all values of a field.
func refused(kind cachev1alpha1.WorkloadKind, field crd.Field) bool {
	alone := []string{"spec.tls.", "spec.auth.", "spec.fillFrom.", "spec.networkPolicy.metricsFrom"}
	return kind == deploymentKind && slices.ContainsFunc(alone, func(prefix string) bool { return strings.HasPrefix(field.Path, prefix) }) ||
		kind == statefulSetKind && field.Path == "spec.updateStrategy.maxSurge" ||
		strings.HasPrefix(field.Path, "spec.scheduling.affinity.") &&
			(strings.HasSuffix(field.Path, ".namespaces[]") || strings.Contains(field.Path, ".namespaceSelector."))
}

// storedWith returns a Memcached with this value in a field, or nil if the API server refuses it.
func storedWith(t *testing.T, kind cachev1alpha1.WorkloadKind, field crd.Field, value string) *cachev1alpha1.Memcached {
	t.Helper()
	spec := map[string]any{}
	if err := json.Unmarshal([]byte(field.Spec(value)), &spec); err != nil {
		t.Fatal(err)
	}
	others := map[string]any{"size": 3, "workload": kind}
	if field.Path == "spec.storage.type" {
		others["config"] = map[string]any{"memory": "128Mi"} // MemoryFile needs more than the default
	}
	if field.Path == "spec.fillFrom.name" {
		others["config"] = map[string]any{"dump": true}
	}
	for name, value := range others {
		if _, given := spec[name]; !given {
			spec[name] = value
		}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "spec": spec,
		"metadata": map[string]any{"name": "cache", "namespace": "shop", "uid": "cache-uid"},
	})
	if err != nil {
		t.Fatal(err)
	}
	mc, err := apiServer(t).Store(text)
	if err != nil {
		return nil
	}
	return mc
}
