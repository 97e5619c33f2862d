// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/repository"
)

// The runbook must have a section for each reason in the status, except the reasons of a healthy cache, and for the link of each alert. The
// section must have a command, or a link to another section with one.
func TestRunbookKnowsEveryReason(t *testing.T) {
	runbook := pages(t)["docs/operations/runbook.md"]
	healthy := []string{"AllNodesReady", "MinimumNodesReady", "Complete", "AsExpected"}
	for _, reason := range repository.Reasons(t) {
		if section := strings.ToLower(reason); !slices.Contains(healthy, reason) && !runbook.Advises(section) {
			t.Errorf("the runbook has no section %s with a command or a link to a section with one", reason)
		}
	}
	rules, _, err := monitoring.Rules(repository.Read(t, monitoring.RulesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		page, section, _ := strings.Cut(rule.Annotations["runbook_url"], "#")
		if rule.Alert != "" && (!strings.HasSuffix(page, "/"+runbook.Path) || !runbook.Advises(section)) {
			t.Errorf("the link of %s leads to %s#%s, which has no command and no link to a section with one", rule.Alert, page, section)
		}
	}
}
