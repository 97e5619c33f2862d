// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/docs"
	"github.com/example/memcached-operator/test/repository"
)

// The runbook must have a section with a command for each reason in the status, except the reasons of a healthy cache.
func TestRunbookKnowsEveryReason(t *testing.T) {
	runbook := pages(t)["docs/operations/runbook.md"]
	healthy := []string{"AllNodesReady", "MinimumNodesReady", "Complete", "AsExpected"}
	for _, reason := range repository.Reasons(t) {
		section := strings.ToLower(reason)
		hasCommand := slices.ContainsFunc(runbook.Blocks, func(b docs.Block) bool { return b.Section == section && b.Language == "sh" })
		if !slices.Contains(healthy, reason) && !hasCommand {
			t.Errorf("the runbook has no section %s with a command", reason)
		}
	}
}
