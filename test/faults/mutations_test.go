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
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/testenv"
)

// TestMutations applies each mutation, one at a time and to nothing but what the compiler reads, and expects the test to
// fail: make test-mutations.
func TestMutations(t *testing.T) {
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
	command.Env = append(os.Environ(), "FAULT_PLAN="+p.plan, "FAULTS_LIMIT=20s")
	combined, err := command.CombinedOutput()
	return string(combined), err
}
