// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// make expands the values of its variables before a recipe can check them. So the Makefile must find a $ in a value without
// expanding the value.
func TestMakeRunsNothingOfAValue(t *testing.T) {
	for _, name := range []string{"VERSION", "IMG", "AGENT_IMG", "IMAGE_TAG_BASE"} {
		file := filepath.Join(t.TempDir(), "made")
		run := runMake(t, "default", "check-version", name+"=$(shell touch "+file+")")
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s has run a command", name)
		}
		if !run.failed || !strings.Contains(run.output, name+" contains a $") {
			t.Errorf("%s: %s", name, run.output)
		}
	}
}

// AGENT_IMG must be the operator's image with "-agent" at the end of the name. The tag, if there is one, must stay the same.
func TestAgentImageFollowsTheOperators(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example.com/memcached-operator:v1": "registry.example.com/memcached-operator-agent:v1",
		"localhost:5000/team/operator:v1":            "localhost:5000/team/operator-agent:v1",
		"operator:v1":                                "operator-agent:v1",
		"localhost:5000/operator":                    "localhost:5000/operator-agent",
	} {
		command := exec.Command("make", "--silent", "--no-print-directory", "-C", repository.Path(), "--eval", "show: ; @echo '$(AGENT_IMG)'", "show", "IMG="+image)
		if output, err := command.CombinedOutput(); err != nil || strings.TrimSpace(string(output)) != want {
			t.Errorf("the agent of %s is %s (%v), want %s", image, output, err, want)
		}
	}
}
