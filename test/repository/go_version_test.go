// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// goVersions maps the end of a file name to an expression that finds versions of Go in such a file. Each of these versions must be the
// version in go.mod.
var goVersions = map[string]*regexp.Regexp{
	"go.mod":     regexp.MustCompile(`(?m)^go (\S+)$`),
	"Dockerfile": regexp.MustCompile(`golang:(\S+)`),
	".yaml":      regexp.MustCompile(`(?:golang:|go-version: )(\S+)`),
	".md":        regexp.MustCompile(`Go (1\.[0-9.]*\d)`),
}

// goVersionFiles returns the files that must name the version of Go, except the go.mod of the operator.
func goVersionFiles(t *testing.T) []string {
	t.Helper()
	files := []string{"Dockerfile", "test/scorecard/Dockerfile", "README.md", "CONTRIBUTING.md", ".github/workflows/ci.yaml", ".github/workflows/nightly.yaml"}
	modules, err := filepath.Glob(repository.Path("hack", "*", "go.mod"))
	if err != nil || len(modules) < 3 {
		t.Fatalf("only %d modules in hack: %v", len(modules), err)
	}
	for _, module := range modules {
		files = append(files, "hack/"+filepath.Base(filepath.Dir(module))+"/go.mod")
	}
	return files
}

// goVersionFindings returns the places at which a file uses, names or installs another version of Go. A file that names no version is
// a finding, too.
func goVersionFindings(file, text, version string) []string {
	var found []string
	for suffix, expression := range goVersions {
		if !strings.HasSuffix(file, suffix) {
			continue
		}
		matches := expression.FindAllStringSubmatch(text, -1)
		if len(matches) == 0 {
			found = append(found, file+" names no version of Go")
		}
		for _, match := range matches {
			if match[1] != version {
				found = append(found, fmt.Sprintf("%s names Go %s, but go.mod %s", file, match[1], version))
			}
		}
	}
	if strings.HasSuffix(file, "go.mod") && regexp.MustCompile(`(?m)^toolchain `).MatchString(text) {
		found = append(found, file+" names a toolchain, which is not what a runner installs")
	}
	if strings.Contains(text, "actions/setup-go@") {
		steps, files := strings.Count(text, "actions/setup-go@"), strings.Count(text, "go-version-file: go.mod\n")
		if steps != files {
			found = append(found, fmt.Sprintf("%s sets up Go %d times, %d times with the version in go.mod", file, steps, files))
		}
	}
	return found
}

// CI installs the version of Go in go.mod, and does not let the go command download another version. Therefore, every file must name
// the version in go.mod.
func TestOneVersionOfGo(t *testing.T) {
	version := repository.GoVersion(t)
	for _, file := range goVersionFiles(t) {
		for _, finding := range goVersionFindings(file, repository.Read(t, file), version) {
			t.Error(finding)
		}
	}
}

// This test gives goVersionFindings mistakes to find: a check that cannot fail proves nothing.
func TestAnotherVersionOfGoIsFound(t *testing.T) {
	version := repository.GoVersion(t)
	for _, file := range goVersionFiles(t) {
		text := repository.Read(t, file)
		if len(goVersionFindings(file, strings.ReplaceAll(text, version, "1.99.1"), version)) == 0 {
			t.Errorf("another version in %s was not found", file)
		}
	}
	for file, text := range map[string]string{
		"hack/helm/go.mod":          "go " + version + "\ntoolchain go1.99.1\n",
		".github/workflows/ci.yaml": "- uses: actions/setup-go@v7\n  with:\n    go-version: " + version + "\n",
	} {
		if !slices.ContainsFunc(goVersionFindings(file, text, version), func(finding string) bool { return strings.HasPrefix(finding, file) }) {
			t.Errorf("%q was accepted in %s", text, file)
		}
	}
}

// A CI runner has exactly one version of Go, so no module may need another.
func TestEveryModuleLoadsWithoutAnotherGo(t *testing.T) {
	for _, module := range append([]string{"go.mod"}, goVersionFiles(t)...) {
		if filepath.Base(module) != "go.mod" {
			continue
		}
		command := exec.Command("go", "list", "-m")
		command.Dir = filepath.Dir(repository.Path(module))
		command.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", module, err, output)
		}
	}
}
