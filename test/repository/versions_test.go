// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// aVersion matches the name of an image, a chart or a ClusterServiceVersion, with a version of the operator as group 1.
var aVersion = regexp.MustCompile(`memcached-operator(?:-agent|-bundle|-catalog)?(?:[:.]v| --version )(\d+\.\d+\.\d+(?:-[0-9a-z.]+)?)`)

// history matches the paths of files that may also name other versions.
var history = regexp.MustCompile(`^(CHANGELOG\.md|docs/design/|docs/operations/(upgrades|compatibility|release)\.|config/manifests/bases/)`)

// A new version must be written wherever users read it.
func TestEveryPageNamesTheVersion(t *testing.T) {
	version, total := repository.Variable(t, "VERSION"), 0
	command := exec.Command("git", "ls-files", "--", "*.md", "config", "charts")
	command.Dir = repository.Path()
	files, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(string(files)) {
		if history.MatchString(file) {
			continue
		}
		for line := range strings.Lines(repository.Read(t, file)) {
			for _, match := range aVersion.FindAllStringSubmatch(line, -1) {
				total++
				// A line with bundle-upgrade names the next version as an example.
				if match[1] != version && !strings.Contains(line, "bundle-upgrade") {
					t.Errorf("%s: not version %s: %q", file, version, line)
				}
			}
		}
	}
	if total < 15 {
		t.Errorf("only %d places with a version were found", total)
	}
	manager := repository.Read(t, "config", "manager", "kustomization.yaml")
	if want := "newName: " + repository.Variable(t, "IMAGE_TAG_BASE") + "\n  newTag: v" + version + "\n"; !strings.Contains(manager, want) {
		t.Errorf("config/manager/kustomization.yaml lacks %q", want)
	}
	chart := repository.Read(t, "charts", "memcached-operator", "Chart.yaml")
	if want := "\nversion: " + version + "\nappVersion: v" + version + "\n"; !strings.Contains(chart, want) {
		t.Errorf("the chart lacks %q", want)
	}
}
