// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/repository"
)

// workflow has the fields of a GitHub workflow that the tests read.
type workflow struct {
	On          map[string]any    `json:"true"` // YAML 1.1 reads the key "on" as true
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Environment string            `json:"environment"`
		Permissions map[string]string `json:"permissions"`
		Container   struct {
			Image string `json:"image"`
		} `json:"container"`
		Steps []struct {
			Uses string         `json:"uses"`
			Run  string         `json:"run"`
			With map[string]any `json:"with"`
		} `json:"steps"`
	} `json:"jobs"`
}

func workflowFindings(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	finding := func(what string) { found = append(found, what) }
	var parsed workflow
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	if len(parsed.Permissions) != 1 || parsed.Permissions["contents"] != "read" {
		finding("the permissions are not contents: read alone")
	}
	// Only a person with write access can dispatch a workflow.
	_, dispatched := parsed.On["workflow_dispatch"]
	byHand := dispatched && len(parsed.On) == 1
	if strings.Contains(text, "pull_request_target") || strings.Contains(text, "secrets.") && !byHand {
		finding("strangers' changes meet secrets")
	}
	for name, job := range parsed.Jobs {
		if len(job.Permissions) > 0 && (!byHand || job.Environment == "") {
			finding(name + " has permissions of its own, which nobody approves")
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !regexp.MustCompile(`uses: `+regexp.QuoteMeta(step.Uses)+` # v\d+\.\d+\.\d+\n`).MatchString(text) ||
				!regexp.MustCompile(`^([\w-]+/[\w-]+@[0-9a-f]{40})?$`).MatchString(step.Uses) {
				finding(step.Uses + " is not pinned by a commit, with its version as a comment")
			}
			if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != any(false) {
				finding(name + " keeps the token in the checkout")
			}
			if strings.Contains(step.Run, "${{") {
				finding(step.Run + " is assembled from what strangers may write")
			}
		}
	}
	return found
}

func TestWorkflowsArePinnedAndHaveFewPermissions(t *testing.T) {
	files, err := filepath.Glob(repository.Path(".github", "workflows", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	for _, file := range files {
		for _, finding := range workflowFindings(t, repository.ReadFile(t, file)) {
			t.Errorf("%s: %s", filepath.Base(file), finding)
		}
	}
}

func TestMistakesInWorkflowsAreFound(t *testing.T) {
	text := repository.Read(t, ".github", "workflows", "ci.yaml")
	for before, after := range map[string]string{
		"contents: read":                 "contents: write",
		"pull_request:":                  "pull_request_target:",
		" # v7.0.1":                      "",
		"@3d3c42e5aac5ba805825da76410c1": "@v7",
		"persist-credentials: false":     "persist-credentials: true",
		"run: make check":                "run: make check TITLE=${{ github.event.pull_request.title }}",
		"runs-on: ubuntu-24.04":          "permissions: {packages: write}",
	} {
		mustFind(t, text, before, strings.ReplaceAll(text, before, after))
	}
}

func mustFind(t *testing.T, text, before, changed string) {
	t.Helper()
	if changed == text {
		t.Errorf("the workflow has no %q", before)
	} else if len(workflowFindings(t, changed)) == 0 {
		t.Errorf("another text in place of %q was not found", before)
	}
}

// A job may have permissions of its own only if a person starts the workflow and another person approves the environment of the
// job.
func TestMistakesInTheReleaseAreFound(t *testing.T) {
	text := repository.Read(t, ".github", "workflows", "release.yaml")
	for before, after := range map[string]string{
		"  workflow_dispatch:\n":     "  workflow_dispatch:\n  pull_request:\n",
		"    environment: release\n": "",
	} {
		mustFind(t, text, before, strings.Replace(text, before, after, 1))
	}
}

// The CI workflow may run only commands that contributors can run, too: "make check" and .ci/run. The command .ci/run must run every
// part of "make check".
func TestWorkflowRunsTheCommandsOfContributors(t *testing.T) {
	var parsed workflow
	if err := yaml.Unmarshal([]byte(repository.Read(t, ".github", "workflows", "ci.yaml")), &parsed); err != nil {
		t.Fatal(err)
	}
	last := func(job string) string { return parsed.Jobs[job].Steps[len(parsed.Jobs[job].Steps)-1].Run }
	if last("check") != "make check" || last("clusters") != ".ci/run" {
		t.Errorf("the jobs run %q and %q", last("check"), last("clusters"))
	}
	if info, err := os.Stat(repository.Path(".ci", "run")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf(".ci/run is not a command: %v", err)
	}
	for _, part := range []string{"test make test", "lint make lint", "verify make verify"} {
		if !strings.Contains(repository.Read(t, ".ci", "run"), "\ncheck "+part+"\n") {
			t.Errorf(".ci/run lacks %s, a part of make check", part)
		}
	}
	if !regexp.MustCompile(`(?m)^check: test lint verify ##`).MatchString(repository.Read(t, "Makefile")) {
		t.Error("make check does not run the tests, the linters and the check of generated files")
	}
	if image := parsed.Jobs["clusters"].Container.Image; !strings.Contains(repository.Read(t, "Dockerfile"), image) {
		t.Errorf("the job runs in %s, which the Dockerfile does not build with", image)
	}
}

// .ci/run selects scenarios by name. A name that no scenario has would select nothing.
func TestTheScenariosOfEveryChangeExist(t *testing.T) {
	selection := regexp.MustCompile(`FAULT_SCENARIOS="([^"]+)"`).FindStringSubmatch(repository.Read(t, ".ci", "run"))
	if selection == nil {
		t.Fatal(".ci/run selects no scenarios")
	}
	files, err := filepath.Glob(repository.Path("test", "faults", "*scenarios_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, file := range files {
		sources.WriteString(repository.ReadFile(t, file))
	}
	for name := range strings.SplitSeq(selection[1], "|") {
		if !strings.Contains(sources.String(), `{name: "`+name+`"`) && !strings.Contains(sources.String(), `deletion = "`+name+`"`) {
			t.Errorf(".ci/run selects the scenario %s, which does not exist", name)
		}
	}
}

// Every suite of "make check-all" must run every night, and so must the suites that take hours.
func TestEverySuiteRunsNightly(t *testing.T) {
	nightly := repository.Read(t, ".github", "workflows", "nightly.yaml")
	var suites []string
	for _, line := range regexp.MustCompile(`(?m)^\t?check ([\w-]+) `).FindAllStringSubmatch(repository.Read(t, "hack", "check-all.sh"), -1) {
		if line[1] != "packages" {
			suites = append(suites, line[1])
		}
	}
	listed := regexp.MustCompile(`suite: \[(.*)\]`).FindStringSubmatch(nightly)
	if listed == nil {
		t.Fatal("the nightly workflow has no suites")
	}
	nights := strings.Split(listed[1], ", ")
	slices.Sort(suites)
	slices.Sort(nights)
	if !slices.Equal(suites, nights) {
		t.Errorf("every night runs %q, make check-all runs %q", nights, suites)
	}
	if !strings.Contains(nightly, "target: [bench, test-hostile]") {
		t.Error("the nightly workflow lacks a suite that takes hours")
	}
}
