// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// releasable has the files that hack/release/check.sh reads, by path. Their contents have no mistakes.
var releasable = map[string]string{
	"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-23\n\n### Added\n\n- Something.\n",
	"Dockerfile":   "FROM scratch\n",
	"bundle/manifests/memcached-operator.clusterserviceversion.yaml": "    containerImage: quay.io/team/memcached-operator" + digest +
		"\n  version: 1.2.3\n  - image: docker.io/library/memcached" + digest + "\n",
	"bundle/tests/scorecard/config.yaml":                                   "    image: quay.io/operator-framework/scorecard-test:v1\n    image: quay.io/team/scorecard" + digest + "\n",
	"catalog/memcached-operator/catalog.yaml":                              "image: quay.io/team/memcached-operator-bundle" + digest + "\n",
	"catalog/template.yaml":                                                "candidate:\n  bundles:\n  - image: quay.io/team/memcached-operator-bundle:v1.2.3" + digest + "\n",
	"config/crd/bases/memcacheds.yaml":                                     "spec:\n  group: cache.team.io\n",
	"config/manifests/bases/memcached-operator.clusterserviceversion.yaml": "    createdAt: \"2026-11-23T00:00:00Z\"\n",
}

// checkout commits the releasable files and the scripts to a new git repository, and returns its folder.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range releasable {
		put(t, filepath.Join(folder, name), content)
	}
	for _, script := range []string{"check.sh", "sources.sh"} {
		put(t, filepath.Join(folder, "hack", "release", script), repository.Read(t, "hack", "release", script))
	}
	git(t, folder, "init", "--quiet")
	commit(t, folder)
	return folder
}

func put(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	command := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=t", "-c", "user.email=t@t"}, arguments...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", arguments, err, output)
	}
}

func commit(t *testing.T, folder string) {
	t.Helper()
	git(t, folder, "add", "--all")
	git(t, folder, "commit", "--quiet", "--allow-empty", "--message=change")
}

// checkRelease runs check.sh. By default, the script's environment fits the releasable files. Each NAME=value in variables overrides
// one environment variable.
func checkRelease(t *testing.T, folder string, variables ...string) (output string, refused bool) {
	t.Helper()
	command := exec.Command(filepath.Join(folder, "hack", "release", "check.sh"))
	command.Env = append(os.Environ(), "VERSION=1.2.3", "IMG=quay.io/team/memcached-operator:v1.2.3",
		"AGENT_IMG=quay.io/team/memcached-operator-agent:v1.2.3",
		"BUNDLE_IMG=quay.io/team/memcached-operator-bundle:v1.2.3", "CATALOG_IMG=quay.io/team/memcached-operator-catalog:v1.2.3",
		"SCORECARD_IMG=quay.io/team/memcached-operator-scorecard:v1.2.3", "BUILD_IMAGE=golang"+digest, "BASE_IMAGE=static"+digest,
		"OPM_IMG=opm"+digest, "OPERATOR_DIGEST=", "SOURCES=")
	command.Env = append(command.Env, variables...)
	text, err := command.CombinedOutput()
	return string(text), err != nil
}

func TestReleaseWithoutFindings(t *testing.T) {
	output, refused := checkRelease(t, checkout(t))
	if want := "Version 1.2.3 can be published.\n"; refused || output != want {
		t.Errorf("refused: %t, output %q, want %q", refused, output, want)
	}
}

// check.sh must report each mistake as one finding, with the remedy.
func TestReleaseIsRefused(t *testing.T) {
	csv := "bundle/manifests/memcached-operator.clusterserviceversion.yaml"
	replace := func(file, before, after string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			replaceIn(t, filepath.Join(folder, file), map[string]string{before: after})
			commit(t, folder)
		}
	}
	for name, test := range map[string]struct {
		mutate    func(*testing.T, string)
		variables []string
		want      string
	}{
		"a change without a commit": {
			mutate: func(t *testing.T, folder string) { t.Helper(); put(t, filepath.Join(folder, "new"), "") },
			want:   "The checkout has changes that no commit contains: commit or remove them.",
		},
		"a released version": {
			mutate: func(t *testing.T, folder string) {
				t.Helper()
				git(t, folder, "tag", "v1.2.3")
				commit(t, folder)
			},
			want: "so raise VERSION.",
		},
		"no entry in the changelog": {
			mutate: replace("CHANGELOG.md", "[1.2.3]", "[1.2.2]"),
			want:   "rename the section Unreleased to [1.2.3] - 2026-11-23, and begin a new one.",
		},
		"two days": {
			mutate: replace("CHANGELOG.md", "2026-11-23", "2026-11-24"), want: "set both to the day of the release.",
		},
		"an entry without changes": {
			mutate: replace("CHANGELOG.md", "- Something.\n", ""), want: "CHANGELOG.md says nothing about [1.2.3]: list what users notice.",
		},
		"unreleased changes": {
			mutate: replace("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n"), want: "move them to [1.2.3].",
		},
		"the bundle of another version": {
			mutate: replace(csv, "version: 1.2.3", "version: 1.2.2"), want: "run make bundle catalog, and commit the result.",
		},
		"no place in the catalog": {
			mutate: replace("catalog/template.yaml", "v1.2.3", "v1.2.30"), want: "catalog/template.yaml does not list this version",
		},
		"another tag": {variables: []string{"IMG=quay.io/team/memcached-operator:latest"}, want: "its tag must be v1.2.3"},
		"a placeholder for the registry": {
			variables: []string{"BUNDLE_IMG=example.com/" + "memcached-operator-bundle:v1.2.3"}, want: "BUNDLE_IMG is the placeholder",
		},
		"a placeholder for the API group": {
			mutate: replace("config/crd/bases/memcacheds.yaml", "cache.team.io", "cache."+"example.com"),
			want:   "and cannot change after the first release: run hack/rename.sh.",
		},
		"a placeholder in a link": {
			mutate: replace(csv, "  version:", "  url: https://github.com/"+"example/memcached-operator\n  version:"),
			want:   "with the placeholder example: " + csv,
		},
		"a placeholder in a file that nothing generates": {
			mutate: replace("CHANGELOG.md", "Something.", "Something, see https://github.com/"+"example/memcached-operator."),
			want:   "with the placeholder example: CHANGELOG.md.",
		},
		"a page that is out of date": {
			mutate: replace("CHANGELOG.md", "Something.", "No image and no Helm chart have been published."),
			want:   "These pages say that nothing has been published: CHANGELOG.md. Write where it is.",
		},
		"a sentence that is out of date": {
			mutate: replace("CHANGELOG.md", "Something.", "Something, but **no image and no Helm chart have been published**."),
			want:   "These pages say that nothing has been published: CHANGELOG.md. Write where it is.",
		},
		"an image of other sources": {
			variables: []string{"OPERATOR_DIGEST=sha256:1", "SOURCES=2"}, want: "The images were pushed before their sources changed",
		},
		"a tag in the scorecard": {
			mutate: replace("bundle/tests/scorecard/config.yaml", "scorecard"+digest, "scorecard:v1"), want: "run make record-images, then make bundle.",
		},
		"a tag in the catalog": {
			mutate: replace("catalog/memcached-operator/catalog.yaml", digest, ":v1.2.3"), want: "run make record-bundle, then make catalog.",
		},
		"a base image with a tag": {variables: []string{"BASE_IMAGE=static:nonroot"}, want: "set what make base-images prints."},
		"no base image":           {variables: []string{"BUILD_IMAGE="}, want: "BUILD_IMAGE is '', without a digest"},
		"a catalog base with a tag": {
			variables: []string{"OPM_IMG=opm:v1"}, want: "OPM_IMG is 'opm:v1', without a digest",
		},
		"a tag in the bundle": {
			mutate: replace(csv, "memcached"+digest, "memcached:1.6.45"), want: "run make record-images, then make bundle.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := checkout(t)
			if test.mutate != nil {
				test.mutate(t, folder)
			}
			output, refused := checkRelease(t, folder, test.variables...)
			findings := strings.Count("\n"+output, "\n- ")
			if !refused || findings != 1 || !strings.Contains(output, test.want) {
				t.Errorf("refused: %t, with %d findings, want one with %q:\n%s", refused, findings, test.want, output)
			}
		})
	}
}

// base-images.sh looks up the digests with the container tool, and prints them as the variables that "make check-release" needs.
func TestBaseImagesAreThoseOfTheDockerfile(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "docker")
	put(t, tool, "#!/bin/sh\n[ \"$1 $2 $3 $4\" = \"buildx imagetools inspect --format\" ] && echo \"$DIGEST\"\n")
	for name, test := range map[string]struct{ digest, want string }{
		"found": {digest[1:], "BUILD_IMAGE=docker.io/library/golang" + digest + "\nBASE_IMAGE=gcr.io/distroless/static" + digest +
			"\nOPM_IMG=quay.io/opm" + digest + "\n"},
		"not found": {"", "The digest of docker.io/library/golang:" + repository.GoVersion(t) + " cannot be looked up: set BUILD_IMAGE to the " +
			"image with its digest yourself, as name@sha256:...\n"},
	} {
		command := exec.Command(repository.Path("hack", "release", "base-images.sh"))
		command.Env = append(os.Environ(), "CONTAINER_TOOL="+tool, "OPM_IMG=quay.io/opm:v1", "DIGEST="+test.digest)
		output, err := command.CombinedOutput()
		if string(output) != test.want || (err != nil) != (name == "not found") {
			t.Errorf("%s: %v, output %q, want %q", name, err, output, test.want)
		}
	}
}

// OpenShift's certification wants a license in /licenses, and labels such as name and vendor. Registries show the labels whose names
// begin with org.opencontainers.
func TestImagesHaveLabelsAndALicense(t *testing.T) {
	stages := strings.Split(repository.Read(t, "Dockerfile"), "\nFROM ")
	common := stages[2]
	if !strings.HasPrefix(common, "${BASE_IMAGE} AS base\n") || len(stages) != 5 {
		t.Fatalf("the Dockerfile has %d stages, and the common one is %q: fix this test", len(stages), common)
	}
	for _, stage := range stages[3:] {
		mustHaveLabelsAndALicense(t, common+stage)
	}
}

func mustHaveLabelsAndALicense(t *testing.T, final string) {
	t.Helper()
	for _, label := range []string{
		"name", "vendor", "maintainer", "version", "release", "summary", "description", "io.k8s.display-name", "io.k8s.description",
		"io.openshift.tags", "org.opencontainers.image.title", "org.opencontainers.image.description", "org.opencontainers.image.version",
		"org.opencontainers.image.revision", "org.opencontainers.image.licenses", "org.opencontainers.image.source",
		"org.opencontainers.image.vendor", "org.opencontainers.image.documentation",
	} {
		if !regexp.MustCompile(`(?m)^(LABEL| {5}) ` + regexp.QuoteMeta(label) + `="[^"]+"`).MatchString(final) {
			t.Errorf("the image has no label %s", label)
		}
	}
	if !strings.Contains(final, "\nCOPY LICENSE /licenses/LICENSE\n") {
		t.Error("the image has no license in /licenses")
	}
}
