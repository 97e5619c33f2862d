// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/monitoring"
	"github.com/example/memcached-operator/test/repository"
)

var (
	quoted = regexp.MustCompile(`"[^"]*"`)
	// ours matches a series of the operator, of an agent, or of a recording rule.
	ours = regexp.MustCompile(`\bmemcached[_:][a-z0-9_:]+`)
)

// An alert or a panel about a series that does not exist would stay silent. The end-to-end tests check the labels, too.
func TestEverySeriesExists(t *testing.T) {
	rules, _, err := monitoring.Rules(read(t, monitoring.RulesFile))
	if err != nil {
		t.Fatal(err)
	}
	exists, used := defined(t), map[string]int{}
	for _, rule := range rules {
		exists[rule.Record] = true
	}
	check := func(where, expr string) {
		for _, name := range ours.FindAllString(quoted.ReplaceAllString(expr, `""`), -1) {
			used[name]++
			if !exists[name] {
				t.Errorf("%s: there is no series %s", where, name)
			}
		}
	}
	for _, rule := range rules {
		check(rule.Record+rule.Alert, rule.Expr)
	}
	for _, file := range []string{monitoring.FleetDashboard, monitoring.CacheDashboard} {
		dashboard, err := monitoring.ParseDashboard(read(t, file))
		if err != nil || len(dashboard.Panels) == 0 {
			t.Fatalf("%s has %d panels: %v", file, len(dashboard.Panels), err)
		}
		for _, panel := range dashboard.Panels {
			for _, query := range panel.Targets {
				check(file+", "+panel.Title, query.Expr)
			}
		}
	}
	for _, rule := range rules {
		if rule.Record != "" && used[rule.Record] == 0 {
			t.Errorf("nothing uses %s", rule.Record)
		}
	}
}

// defined returns the names of the series of the agents and of the operator: those of a scrape, and those that the source defines. The
// agent adds the prefix memcached_ to those of package stats.
func defined(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range ours.FindAllString(read(t, "internal/agent/sidecar/testdata/default.golden.txt"), -1) {
		names[name] = true
	}
	for _, folder := range []string{"agent", "metrics"} {
		err := filepath.WalkDir(repository.Path("internal", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, text := range quoted.FindAllString(string(source), -1) {
				names["memcached_"+strings.TrimPrefix(strings.Trim(text, `"`), "memcached_")] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	return repository.Read(t, strings.Split(file, "/")...)
}
