// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// promtool is Prometheus' tool for rules and configurations, of the same version as in go.mod.
const promtool = root + "/bin/kubernetes/promtool"

type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// ruleFile is the spec of the PrometheusRule. It has the format of Prometheus' rule files.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

func rules(t *testing.T) ruleFile {
	t.Helper()
	var object struct{ Spec ruleFile }
	if err := yaml.Unmarshal([]byte(read(t, component+"/rules.yaml")), &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec
}

func (f ruleFile) alerts() []rule {
	var alerts []rule
	for _, group := range f.Groups {
		alerts = append(alerts, slices.DeleteFunc(slices.Clone(group.Rules), func(r rule) bool { return r.Alert == "" })...)
	}
	return alerts
}

// record checks the expression of each rule, and adds the series of recording rules to s.
func (s series) record(t *testing.T, file ruleFile) {
	t.Helper()
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			has, err := s.check(rule.Expr)
			if err != nil {
				t.Errorf("%s%s: %v", rule.Record, rule.Alert, err)
			}
			if rule.Record != "" {
				s[rule.Record] = has
			}
			texts := rule.Annotations["summary"] + rule.Annotations["description"]
			if lacks := has.lacks(mentioned(texts)); len(lacks) > 0 {
				t.Errorf("%s mentions the labels %q, which its expression does not have", rule.Alert, lacks)
			}
		}
	}
}

func TestRulesUseOnlyWhatExists(t *testing.T) {
	known(t).record(t, rules(t))
}

// Each recording rule must be used in a rule or a dashboard. Its name occurs once in the rule itself, so the name must occur at
// least twice.
func TestEveryRecordingRuleIsUsed(t *testing.T) {
	texts := read(t, component+"/rules.yaml") + read(t, component+"/dashboards/fleet.json") + read(t, component+"/dashboards/cache.json")
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			if rule.Record != "" && strings.Count(texts, rule.Record) < 2 {
				t.Errorf("nothing uses %s", rule.Record)
			}
		}
	}
}

func TestAlertsAreComplete(t *testing.T) {
	severities := []string{"critical", "warning", "info"}
	alerts := rules(t).alerts()
	if len(alerts) < 13 {
		t.Errorf("there are only %d alerts", len(alerts))
	}
	for _, alert := range alerts {
		if !slices.Contains(severities, alert.Labels["severity"]) || len(alert.Labels) != 1 {
			t.Errorf("%s has the labels %v, want a severity", alert.Alert, alert.Labels)
		}
		if alert.For == "" {
			t.Errorf("%s has no for", alert.Alert)
		}
		for _, text := range []string{"summary", "description"} {
			if !strings.HasSuffix(alert.Annotations[text], ".") {
				t.Errorf("the %s of %s is no sentence: %q", text, alert.Alert, alert.Annotations[text])
			}
		}
		if !strings.HasSuffix(alert.Annotations["runbook_url"], "/docs/operations/runbook.md#"+strings.ToLower(alert.Alert)) {
			t.Errorf("the runbook of %s is %s", alert.Alert, alert.Annotations["runbook_url"])
		}
	}
}

// testFile is a file for "promtool test rules". It has only the fields that say which alerts are tested.
type testFile struct {
	Tests []struct {
		AlertRuleTest []struct {
			Alertname string
			ExpAlerts []any `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	}
}

func TestEachAlertIsTestedBothWays(t *testing.T) {
	fires, stays := map[string]bool{}, map[string]bool{}
	for _, path := range testFiles(t) {
		var file testFile
		if err := yaml.Unmarshal([]byte(read(t, path)), &file); err != nil {
			t.Fatal(err)
		}
		for _, test := range file.Tests {
			for _, expectation := range test.AlertRuleTest {
				if len(expectation.ExpAlerts) > 0 {
					fires[expectation.Alertname] = true
				} else {
					stays[expectation.Alertname] = true
				}
			}
		}
	}
	for _, alert := range rules(t).alerts() {
		if !fires[alert.Alert] || !stays[alert.Alert] {
			t.Errorf("%s: a test in which it fires: %t; one in which it does not: %t", alert.Alert, fires[alert.Alert], stays[alert.Alert])
		}
	}
}

func testFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.FromSlash(component + "/testdata/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests of the rules: %v", err)
	}
	return files
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	runPromtool(t, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(writeRules(t, rules(t)), "rules.yaml"))
}

func TestTestsOfTheAlertsPass(t *testing.T) {
	t.Parallel()
	if output, err := promtoolTests(t, rules(t)); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// promtoolTests runs the tests of the alerts, with these rules instead of those in the repository.
func promtoolTests(t *testing.T, file ruleFile) (output string, err error) {
	t.Helper()
	dir := writeRules(t, file)
	args := []string{"test", "rules"}
	for _, tests := range testFiles(t) {
		copied := filepath.Join(dir, filepath.Base(tests))
		write(t, copied, read(t, tests))
		args = append(args, copied)
	}
	all, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
	return string(all), err
}

// The tests of each alert must fail with rules by which no alert ever fires, and with rules by which every alert always fires.
func TestTestsNoticeWrongAlerts(t *testing.T) {
	for name, change := range map[string]func(*rule){
		"they never fire":  func(wrong *rule) { wrong.For = "365d" },
		"they always fire": func(wrong *rule) { wrong.Expr = "vector(1)" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := rules(t)
			for _, group := range file.Groups {
				for i := range group.Rules {
					if group.Rules[i].Alert != "" {
						change(&group.Rules[i])
					}
				}
			}
			output, err := promtoolTests(t, file)
			for _, alert := range file.alerts() {
				if err == nil || !strings.Contains(output, "alertname: "+alert.Alert+",") {
					t.Errorf("the tests of %s pass", alert.Alert)
				}
			}
		})
	}
}

// scrapeConfiguration matches the example configuration in docs/operations/monitoring.md, for users without the Prometheus operator.
var scrapeConfiguration = regexp.MustCompile("(?ms)^```yaml\n(scrape_configs:.*?\n)```$")

func TestPromtoolAcceptsTheScrapeConfiguration(t *testing.T) {
	match := scrapeConfiguration.FindStringSubmatch(read(t, root+"/docs/operations/monitoring.md"))
	if match == nil {
		t.Fatal("docs/operations/monitoring.md has no scrape_configs")
	}
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	write(t, file, match[1])
	runPromtool(t, "check", "config", "--syntax-only", file)
}

func writeRules(t *testing.T, file ruleFile) string {
	t.Helper()
	content, err := yaml.Marshal(file.forPrometheus())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), string(content))
	return dir
}

// forPrometheus returns the rules with the field names of Prometheus' rule files.
func (f ruleFile) forPrometheus() any {
	var groups []any
	for _, group := range f.Groups {
		var all []any
		for _, r := range group.Rules {
			if r.Record != "" {
				all = append(all, map[string]any{"record": r.Record, "expr": r.Expr})
				continue
			}
			all = append(all, map[string]any{
				"alert": r.Alert, "expr": r.Expr, "for": r.For, "labels": r.Labels, "annotations": r.Annotations,
			})
		}
		groups = append(groups, map[string]any{"name": group.Name, "rules": all})
	}
	return map[string]any{"groups": groups}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := os.Stat(promtool); err != nil {
		t.Fatalf("hack/binaries.sh promtool builds it: %v", err)
	}
	if output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}
