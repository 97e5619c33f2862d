// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/repository"
)

func TestFaster(t *testing.T) {
	for text, want := range map[string]string{
		"for: 2m":                               "for: 2s",
		"for: 15m":                              "for: 15s",
		"rate(a[5m]) > 60":                      "rate(a[5s]) > 60",
		"avg_over_time(a:rate5m[1d] offset 1h)": "avg_over_time(a:rate5m[24m] offset 1m)",
		"max_over_time(a[30m:90s])":             "max_over_time(a[30s:1s500ms])",
		"increase(a[90s])":                      "increase(a[1s500ms])",
		"rate(a[$__rate_interval])":             "rate(a[$__rate_interval])",
		"{{ $value }} for 5m":                   "{{ $value }} for 5m",
		"evicted within the last hour: 1h":      "evicted within the last hour: 1h",
		"last_over_time(a{b=\"for 1h\"}[10m])":  "last_over_time(a{b=\"for 1h\"}[10s])",
	} {
		if got := monitoring.Faster(text, 60); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// expressions returns the expressions in the rules and dashboards, and the "for" of each rule. change edits the text of each file
// before it is parsed.
func expressions(t *testing.T, change func(string) string) []string {
	t.Helper()
	rules, _, err := monitoring.Rules(change(read(t, monitoring.RulesFile)))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, rule := range rules {
		all = append(all, rule.Expr, rule.For)
	}
	for _, file := range []string{monitoring.FleetDashboard, monitoring.CacheDashboard} {
		dashboard, err := monitoring.ParseDashboard(change(read(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, panel := range dashboard.Panels {
			for _, query := range panel.Targets {
				all = append(all, query.Expr)
			}
		}
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	return repository.Read(t, strings.Split(file, "/")...)
}

// anyDuration matches every duration, but not the 5m in a name such as rate5m, because it follows a letter.
var anyDuration = regexp.MustCompile(`\b\d+(ms|[smhdwy])\b`)

func TestFasterShortensEveryDurationAndNothingElse(t *testing.T) {
	const factor = 60
	before := expressions(t, func(text string) string { return text })
	after := expressions(t, func(text string) string { return monitoring.Faster(text, factor) })
	without := func(all []string) []string {
		var rest []string
		for _, text := range all {
			rest = append(rest, anyDuration.ReplaceAllString(text, "DURATION"))
		}
		return rest
	}
	if diff := cmp.Diff(without(before), without(after)); diff != "" {
		t.Errorf("without durations (-before +after):\n%s", diff)
	}
	long, short := durations(t, before), durations(t, after)
	if len(long) < 25 {
		t.Errorf("the rules and dashboards have only %d durations", len(long))
	}
	for i := range long {
		long[i] /= factor
	}
	if diff := cmp.Diff(long, short); diff != "" {
		t.Errorf("durations (-before/60 +after):\n%s", diff)
	}
}

func durations(t *testing.T, all []string) []time.Duration {
	t.Helper()
	var found []time.Duration
	for _, text := range all {
		for _, match := range anyDuration.FindAllString(text, -1) {
			parsed, err := model.ParseDuration(match)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, time.Duration(parsed))
		}
	}
	return found
}
