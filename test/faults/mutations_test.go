// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults && mutations

package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// TestMutations runs the test of each pattern (patterns_test.go) twice: it must pass with the original code, and fail with the mutation.
// The option -overlay of "go test" applies the mutation, so no file in the repository changes.
func TestMutations(t *testing.T) {
	for _, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			original := repository.Read(t, p.file)
			if output, err := p.testWith(t, original); err != nil {
				t.Fatalf("%s fails without the mutation: %v\n%s", p.test, err, output)
			}
			output, err := p.testWith(t, p.mutate(original))
			switch {
			case err == nil:
				t.Errorf("%s passes with the mutation:\n%s", p.test, output)
			case !strings.Contains(output, "FAIL") || slices.ContainsFunc([]string{"[build failed]", "[setup failed]", "none of the plans"},
				func(text string) bool { return strings.Contains(output, text) }):
				t.Errorf("the mutation does not work: %v\n%s", err, output)
			}
		})
	}
}

// mutate applies the mutation to the text of the pattern's file, and imports fmt if the mutation needs it.
func (p pattern) mutate(text string) string {
	text = strings.Replace(text, p.from, p.to, 1)
	if strings.Contains(p.to, "fmt.") {
		text = strings.Replace(text, "import (\n", "import (\n\t\"fmt\"\n", 1)
	}
	return text
}

// testWith runs the test of a pattern. The text replaces the content of the pattern's file.
func (p pattern) testWith(t *testing.T, text string) (output string, err error) {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "file.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{repository.Path(p.file): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{file: text, overlay: string(replace)} {
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
	command.Dir = repository.Path()
	command.Env = append(os.Environ(), "FAULT_PLAN="+p.plan, "FAULTS_LIMIT=60s")
	combined, err := command.CombinedOutput()
	return string(combined), err
}
