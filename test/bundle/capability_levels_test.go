// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

const missing = "**missing**"

// levels are the capability levels, lowest first, as docs/capability-levels.md and OLM call them.
var levels = []string{"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}

// criteria returns the proof of each criterion of a level, from docs/capability-levels.md.
func criteria(t *testing.T, level string) map[string]string {
	t.Helper()
	_, section, found := strings.Cut(repository.Read(t, "docs", "capability-levels.md"), ": "+level+"\n")
	if !found {
		t.Fatalf("docs/capability-levels.md has no section for %s", level)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	proofs := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		if row[1] != "criterion" {
			proofs[row[1]] = row[2]
		}
	}
	return proofs
}

// The bundle must claim the highest proven level. A level is proven if each of its criteria, and each criterion of the lower
// levels, has a proof.
func TestCapabilityLevelIsTheProvenOne(t *testing.T) {
	proven := ""
	for _, level := range levels {
		all := criteria(t, level)
		if len(all) == 0 {
			t.Fatalf("docs/capability-levels.md has no criteria of %s", level)
		}
		complete := true
		for _, proof := range all {
			complete = complete && !strings.Contains(proof, missing)
		}
		if !complete {
			break
		}
		proven = level
	}
	if claimed := bundle(t).CSV.Annotations["capabilities"]; claimed != proven {
		t.Errorf("the bundle claims %q, docs/capability-levels.md proves %q", claimed, proven)
	}
	if !strings.Contains(repository.Read(t, "docs", "capability-levels.md"), "claims **"+proven+"**") {
		t.Errorf("docs/capability-levels.md proves %q, but does not say that the bundle claims it", proven)
	}
}

func TestEveryProofExists(t *testing.T) {
	for _, level := range levels {
		for criterion, proof := range criteria(t, level) {
			tests := regexp.MustCompile("`([^`]+_test\\.go)`: \"([^\"]+)\"").FindAllStringSubmatch(proof, -1)
			if len(tests) == 0 && !strings.Contains(proof, missing) {
				t.Errorf("%s, %q: no test and not marked as missing", level, criterion)
			}
			for _, test := range tests {
				if !strings.Contains(repository.Read(t, test[1]), test[2]) {
					t.Errorf("%s, %q: %s has no test %q", level, criterion, test[1], test[2])
				}
			}
		}
	}
}
