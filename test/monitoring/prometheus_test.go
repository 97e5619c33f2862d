// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/repository"
)

// The rule file must contain the whole spec of the PrometheusRule.
func TestRuleFileHasEverything(t *testing.T) {
	prometheusRule := repository.Read(t, strings.Split(monitoring.RulesFile, "/")...)
	rules, file, err := monitoring.Rules(prometheusRule)
	if err != nil || len(rules) < 25 {
		t.Fatalf("%s has only %d rules: %v", monitoring.RulesFile, len(rules), err)
	}
	var object, got map[string]any
	for content, into := range map[string]*map[string]any{prometheusRule: &object, string(file): &got} {
		if err := yaml.Unmarshal([]byte(content), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(object["spec"], any(got)); diff != "" {
		t.Errorf("the rule file (-PrometheusRule +file):\n%s", diff)
	}
}
