// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// TestPatterns checks that each pattern names an existing test, and that the text that its mutation replaces occurs exactly once.
func TestPatterns(t *testing.T) {
	if len(patterns) != 40 {
		t.Errorf("%d patterns, want 40", len(patterns))
	}
	for _, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			files, err := filepath.Glob(repository.Path(p.pkg, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("there are no tests in %s: %v", p.pkg, err)
			}
			var tests strings.Builder
			for _, file := range files {
				if filepath.Base(file) != "patterns_test.go" {
					tests.WriteString(repository.ReadFile(t, file))
				}
			}
			function, _, _ := strings.Cut(p.test, "/")
			if !strings.Contains(tests.String(), "func "+function+"(") {
				t.Errorf("there is no %s in %s", function, p.pkg)
			}
			if p.spec != "" && !strings.Contains(tests.String(), `"`+p.spec) {
				t.Errorf("there is no spec in %s: %s", p.pkg, p.spec)
			}
			if name, _, _ := strings.Cut(p.plan, "/"); p.plan != "" && !strings.Contains(tests.String(), `"`+name+`"`) {
				t.Errorf("there is no scenario %s", name)
			}
			if count := strings.Count(repository.Read(t, p.file), p.from); count != 1 {
				t.Errorf("the text to be replaced occurs %d times in %s, want 1: %s", count, p.file, p.from)
			}
		})
	}
}
