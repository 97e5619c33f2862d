// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The result must contain the licenses of the operator and of linked modules, but not that of a module that only tests need.
func TestLicensesOfTheOperator(t *testing.T) {
	t.Chdir("../..")
	folder := t.TempDir()
	if err := run(".", folder); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"github.com/example/memcached-operator/LICENSE", "sigs.k8s.io/controller-runtime/LICENSE", "k8s.io/client-go/LICENSE",
	} {
		if info, err := os.Stat(filepath.Join(folder, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "github.com", "onsi", "ginkgo")); err == nil {
		t.Error("there is a license of what the operator does not link")
	}
}

func TestAModuleWithoutALicenseIsAnError(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/none\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	if err := run(".", t.TempDir()); err == nil || !strings.Contains(err.Error(), "example.com/none: no license was found in") {
		t.Errorf("got %v", err)
	}
}

// The SBOM lists only the modules that the operator links, so the agent and the launcher must not link other modules.
func TestTheSmallCommandsLinkNothingThatTheOperatorDoesNot(t *testing.T) {
	t.Chdir("../..")
	operator, err := linked(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"./cmd/agent", "./cmd/launcher"} {
		modules, err := linked(command)
		if err != nil || len(modules) == 0 {
			t.Fatalf("%s: %d modules, %v", command, len(modules), err)
		}
		for path := range modules {
			if _, found := operator[path]; !found {
				t.Errorf("%s links %s, which is not in the SBOM", command, path)
			}
		}
	}
}
