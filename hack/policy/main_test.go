// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

func TestRewrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	const policy = "variables:\n- name: other\n  expression: \"'stays'\"\n- name: argumentsPattern\n  expression: old\n"
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second run changes nothing
		if err := rewrite(file); err != nil {
			t.Fatal(err)
		}
	}
	var got struct {
		Variables []struct{ Name, Expression string }
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &got)
	}
	if err != nil || len(got.Variables) != 2 || got.Variables[0].Expression != "'stays'" || got.Variables[1].Expression != "'"+protocol.Pattern+"'" {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestPolicyWithoutAPlaceForPatterns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("variables:\n- name: other\n  expression: old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(file); err == nil || !strings.Contains(err.Error(), "policy.yaml: it has no variable with a pattern") {
		t.Errorf("the error is %v", err)
	}
}

// Patterns must not contain quotes or backslashes, because these have a special meaning in CEL and YAML.
func TestPatternsNeedNoEscapes(t *testing.T) {
	for name, pattern := range variables {
		if strings.ContainsAny(pattern, `'"\`) {
			t.Errorf("%s needs escapes: %s", name, pattern)
		}
	}
}
