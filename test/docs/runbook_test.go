// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/repository"
)

// The runbook must have a section for each reason in the table of the status, except those of a healthy cache, and for the link of each
// alert. The section must have a command, or a link to another section with one. There is no section about anything else.
func TestRunbookKnowsEveryReason(t *testing.T) {
	runbook := pages(t)["docs/operations/runbook.md"]
	healthy := []string{"AllNodesReady", "AsExpected"}
	known := map[string]bool{}
	for _, reason := range repository.Reasons(t) {
		section := strings.ToLower(reason)
		known["`"+reason+"`"] = true
		if !slices.Contains(healthy, reason) && !runbook.Advises(section) {
			t.Errorf("the runbook has no section %s with a command or a link to a section with one", reason)
		}
	}
	for _, match := range regexp.MustCompile("(?m)^### (`[A-Z]\\w+`)$").FindAllStringSubmatch(repository.Read(t, runbook.Path), -1) {
		if !known[match[1]] && !strings.HasPrefix(match[1], "`Memcached") {
			t.Errorf("the runbook has a section about %s, which is no reason", match[1])
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
