// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/docs"
)

// Each reason in the status that calls for somebody has a section in the runbook, with a command.
func TestRunbookKnowsEveryReason(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "api", "v1alpha1", "memcached_conditions.go"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`\tReason\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) < 20 {
		t.Fatalf("the API has only %d reasons", len(reasons))
	}
	runbook := pages(t)["docs/operations/runbook.md"]
	healthy := []string{"AllNodesReady", "MinimumNodesReady", "Complete", "AsExpected"}
	for _, reason := range reasons {
		section := strings.ToLower(reason[1])
		hasCommand := slices.ContainsFunc(runbook.Blocks, func(b docs.Block) bool { return b.Section == section && b.Language == "sh" })
		if !slices.Contains(healthy, reason[1]) && !hasCommand {
			t.Errorf("the runbook has no section %s with a command", reason[1])
		}
	}
}
