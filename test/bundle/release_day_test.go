// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/repository"
)

// day.sh must give each version one date and one link in the changelog, even if it sets the date of a version twice. createdAt of the
// bundle must be the date that was set last.
func TestReleaseDayOfTwoVersions(t *testing.T) {
	folder := t.TempDir()
	base := "config/manifests/bases/memcached-operator.clusterserviceversion.yaml"
	for name, content := range map[string]string{
		"hack/release/day.sh": repository.Read(t, "hack", "release", "day.sh"), "go.mod": "module git.team.io/cache/operator\n",
		base:           "    createdAt: \"2025-01-01T00:00:00Z\"\n",
		"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n- Something.\n\n[Unreleased]: https://git.team.io/cache/operator/commits/main\n",
	} {
		put(t, filepath.Join(folder, name), content)
	}
	for _, day := range [][]string{{"1.0.0", "2026-11-23"}, {"1.0.0", "2026-11-24"}, {"1.0.1", "2026-12-01"}} {
		command := exec.Command(filepath.Join(folder, "hack", "release", "day.sh"))
		command.Env = append(os.Environ(), "VERSION="+day[0], "DAY="+day[1])
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", day, err, output)
		}
	}
	want := `# Changelog

## [Unreleased]

## [1.0.1] - 2026-12-01

## [1.0.0] - 2026-11-24

- Something.

[Unreleased]: https://git.team.io/cache/operator/compare/v1.0.1...HEAD
[1.0.1]: https://git.team.io/cache/operator/compare/v1.0.0...v1.0.1
[1.0.0]: https://git.team.io/cache/operator/releases/tag/v1.0.0
`
	if diff := cmp.Diff(want, repository.ReadFile(t, filepath.Join(folder, "CHANGELOG.md"))); diff != "" {
		t.Errorf("the changelog (-want +got):\n%s", diff)
	}
	if got := repository.ReadFile(t, filepath.Join(folder, base)); got != "    createdAt: \"2026-12-01T00:00:00Z\"\n" {
		t.Errorf("the bundle has %q", got)
	}
}
