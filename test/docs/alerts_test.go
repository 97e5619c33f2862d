// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/repository"
)

// alert has the fields of an alerting rule that the tests compare with the pages.
type alert struct {
	Alert, Expr, For string
	Labels           map[string]string
	Annotations      map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var object struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	if err := yaml.Unmarshal([]byte(repository.Read(t, "config", "components", "monitoring", "rules.yaml")), &object); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, group := range object.Spec.Groups {
		all = append(all, slices.DeleteFunc(group.Rules, func(rule alert) bool { return rule.Alert == "" })...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// The link of each alert must lead to a section of the runbook. That section must have a command, or a link to another section with one.
func TestAlertsLinkToTheRunbook(t *testing.T) {
	runbook := pages(t)["docs/operations/runbook.md"]
	for _, alert := range alerts(t) {
		page, anchor, _ := strings.Cut(alert.Annotations["runbook_url"], "#")
		if !strings.HasSuffix(page, "/"+runbook.Path) || !slices.Contains(runbook.Anchors, anchor) {
			t.Errorf("the link of %s leads to %s#%s, which is not there", alert.Alert, page, anchor)
		}
		if !runbook.Advises(anchor) {
			t.Errorf("the section of %s has no command and no link to a section with one", alert.Alert)
		}
	}
}
