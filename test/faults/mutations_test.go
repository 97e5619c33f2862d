// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/testenv"
)

// TestPatterns checks that each pattern names a test that exists, and that its mutation fits the code.
func TestPatterns(t *testing.T) {
	if len(patterns) != 30 {
		t.Errorf("there are %d patterns, want 30", len(patterns))
	}
	for _, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			files, err := filepath.Glob(testenv.Path(p.pkg, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("there are no tests in %s: %v", p.pkg, err)
			}
			var tests strings.Builder
			for _, file := range files {
				if filepath.Base(file) != "patterns_test.go" {
					tests.WriteString(read(t, file))
				}
			}
			function, _, _ := strings.Cut(p.test, "/")
			if !strings.Contains(tests.String(), "func "+function+"(") {
				t.Errorf("there is no %s in %s", function, p.pkg)
			}
			if p.spec != "" && !strings.Contains(tests.String(), `"`+p.spec) {
				t.Errorf("no spec of %s says: %s", p.pkg, p.spec)
			}
			if name, _, _ := strings.Cut(p.plan, "/"); p.plan != "" && !strings.Contains(tests.String(), `"`+name+`"`) {
				t.Errorf("there is no scenario %s", name)
			}
			if count := strings.Count(read(t, testenv.Path(p.file)), p.from); count != 1 {
				t.Errorf("the text that is to be replaced is %d times in %s, want 1: %s", count, p.file, p.from)
			}
		})
	}
}

// TestMutations applies each mutation, one at a time and to nothing but what the compiler reads, and expects the test to
// fail. It takes minutes, and only runs when MUTATIONS is set: make test-mutations.
func TestMutations(t *testing.T) {
	if os.Getenv("MUTATIONS") == "" {
		t.Skip("make test-mutations runs it")
	}
	for _, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			output, err := p.mutated(t)
			switch {
			case err == nil:
				t.Errorf("%s passes without the defence:\n%s", p.test, output)
			case !strings.Contains(output, "FAIL") || strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
				t.Errorf("the mutation does not work: %v\n%s", err, output)
			}
		})
	}
}

// mutated runs the test of a pattern without its defence.
func (p pattern) mutated(t *testing.T) (output string, err error) {
	t.Helper()
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	original := testenv.Path(p.file)
	text := strings.Replace(read(t, original), p.from, p.to, 1)
	if strings.Contains(p.to, "fmt.") {
		text = strings.Replace(text, "import (\n", "import (\n\t\"fmt\"\n", 1)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{mutant: text, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	steps := strings.Split(p.test, "/")
	for i := range steps {
		steps[i] = "^" + regexp.QuoteMeta(steps[i]) + "$"
	}
	args := []string{"test", "-tags=faults", "-count=1", "-vet=off", "-overlay=" + overlay, "-run=" + strings.Join(steps, "/"), p.pkg}
	if p.spec != "" {
		args = append(args, "-args", "-ginkgo.focus="+regexp.QuoteMeta(p.spec))
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = testenv.Path()
	command.Env = append(os.Environ(), "FAULT_PLAN="+p.plan, "FAULTS_LIMIT=20s", "MUTATIONS=")
	combined, err := command.CombinedOutput()
	return string(combined), err
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
