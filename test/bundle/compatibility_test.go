// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// supported returns the supported versions of Kubernetes, such as 1.30, oldest first.
func supported(t *testing.T) []string {
	t.Helper()
	var oldest, patch int
	if _, err := fmt.Sscanf(repository.Variable(t, "OLDEST_K8S_VERSION"), "1.%d.%d", &oldest, &patch); err != nil {
		t.Fatal(err)
	}
	var versions []string
	for minor := oldest; minor <= repository.NewestKubernetes(t); minor++ {
		versions = append(versions, fmt.Sprintf("1.%d", minor))
	}
	if len(versions) < 2 {
		t.Fatalf("only %q are supported", versions)
	}
	return versions
}

func TestTheOldestKubernetesIsTheSameEverywhere(t *testing.T) {
	oldest := supported(t)[0]
	if got := bundle(t).CSV.Spec.MinKubeVersion; got != oldest+".0" {
		t.Errorf("the bundle has minKubeVersion %s, the Makefile tests with %s", got, oldest)
	}
	for file, pattern := range map[string]string{
		"README.md":                            `Kubernetes (1\.\d+) or newer`,
		"docs/operations/install.md":           `Kubernetes (1\.\d+) or newer`,
		"docs/operations/compatibility.md":     `(?m)^\| [\d.]+ \| (1\.\d+) to 1\.\d+ \|`,
		"hack/bundle/bundle.mk":                `is the first with Kubernetes (1\.\d+)`,
		"charts/memcached-operator/Chart.yaml": `kubeVersion: ">=(1\.\d+)\.0-0"`,
		"config/manifests/bases/memcached-operator.clusterserviceversion.yaml": `Kubernetes (1\.\d+) or newer`,
	} {
		matches := regexp.MustCompile(pattern).FindAllStringSubmatch(repository.Read(t, file), -1)
		if len(matches) == 0 {
			t.Errorf("%s does not say which Kubernetes is the oldest", file)
		}
		for _, match := range matches {
			if match[1] != oldest {
				t.Errorf("%s says %q, the Makefile tests with %s", file, match[0], oldest)
			}
		}
	}
}

// compatibility.md must list every supported version. "make test" tests with the newest version, and the nightly workflow with each
// older one.
func TestEverySupportedKubernetesIsTested(t *testing.T) {
	versions := supported(t)
	var rows []string
	page := repository.Read(t, "docs", "operations", "compatibility.md")
	for _, row := range regexp.MustCompile(`(?m)^\| (1\.\d+) \| (?:every change|every night)`).FindAllStringSubmatch(page, -1) {
		rows = append(rows, row[1])
	}
	slices.Reverse(rows)
	if !slices.Equal(rows, versions) {
		t.Errorf("the page has rows for %q, and %q are supported", rows, versions)
	}
	for file, before := range map[string]string{"go.mod": "k8s.io/kubernetes v", "published.sha256": "dl.k8s.io/v"} {
		if newest := before + versions[len(versions)-1] + "."; !strings.Contains(repository.Read(t, "hack", "kubernetes", file), newest) {
			t.Errorf("hack/kubernetes/%s does not have %sx", file, newest)
		}
	}
	workflow := repository.Read(t, ".github", "workflows", "nightly.yaml")
	want := "version: [" + strings.Join(versions[:len(versions)-1], ".x, ") + ".x]\n"
	if !strings.Contains(workflow, want) {
		t.Errorf("the workflow does not test with %q", want)
	}
}
