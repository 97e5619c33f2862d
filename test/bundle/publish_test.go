// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// Each image must be pushed for every platform, with its provenance and SBOM.
func TestImagesArePushedWithTheirProvenance(t *testing.T) {
	folder := t.TempDir()
	tool := filepath.Join(folder, "docker")
	put(t, tool, "#!/bin/sh\n[ \"$2\" = inspect ] || echo \"$@\" >>"+folder+"/builds\n")
	command := exec.Command("make", "--silent", "docker-buildx", "scorecard-buildx", "bundle-buildx", "CONTAINER_TOOL="+tool)
	command.Dir = repository.Path()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	builds := strings.Split(strings.TrimSpace(repository.ReadFile(t, filepath.Join(folder, "builds"))), "\n")
	if len(builds) != 4 {
		t.Errorf("%d images are built, want those of the operator, the agent, the scorecard and the bundle: %q", len(builds), builds)
	}
	for _, build := range builds {
		for _, flag := range []string{"--provenance=mode=max", "--sbom=true", "--push", "--platform=" + repository.Variable(t, "PLATFORMS")} {
			if !strings.Contains(build, " "+flag+" ") {
				t.Errorf("%s is missing in %s", flag, build)
			}
		}
	}
}

// If an input is missing or wrong, a script must say so in one sentence before it publishes anything.
func TestNothingIsPublishedIncompletely(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "nothing")
	put(t, nothing, "#!/bin/sh\necho ran >&2\n")
	for want, test := range map[string]struct{ arguments, variables []string }{
		"docs/operations/release.md has no block with the name 'all'.": {arguments: []string{"block.sh", "all"}},
		"missing.json is missing: run make sbom.":                      {arguments: []string{"sign.sh", "--sbom", "missing.json", "a" + digest}},
		"The digest of registry/a:v1 cannot be looked up: push the image first.": {
			arguments: []string{"sign.sh", "registry/a:v1"}, variables: []string{"CONTAINER_TOOL=false"},
		},
		"CHART_REPOSITORY is 'registry/charts', but must be a place in a registry, such as oci://registry.example.com/charts.": {
			arguments: []string{"chart.sh"}, variables: []string{"CHART_REPOSITORY=registry/charts"},
		},
		"CHANGELOG.md has no entry for 9.9.9: run make release-day.": {
			arguments: []string{"github.sh"}, variables: []string{"VERSION=9.9.9"},
		},
		"COMMUNITY_FORKS is '', but must be the GitHub user or organization with forks of both catalogs.": {
			arguments: []string{"catalogs.sh"}, variables: []string{"COMMUNITY_FORKS="},
		},
	} {
		command := exec.Command(repository.Path("hack", "release", test.arguments[0]), test.arguments[1:]...)
		command.Env = append(append(os.Environ(), "COSIGN="+nothing, "HELM="+nothing), test.variables...)
		if output, err := command.CombinedOutput(); err == nil || string(output) != want+"\n" {
			t.Errorf("%q: %v, output %q, want %q", test.arguments, err, output, want)
		}
	}
}
