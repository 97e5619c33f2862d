// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	all := map[string]dashboard{}
	for _, name := range []string{"fleet", "cache"} {
		var read dashboard
		decoder := json.NewDecoder(strings.NewReader(readDashboard(t, name)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&read); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = read
	}
	return all
}

func readDashboard(t *testing.T, name string) string {
	t.Helper()
	return read(t, component+"/dashboards/"+name+".json")
}

func TestDashboardsAreWhatTheProgramWrites(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadDir(dir)
	if err != nil || len(written) != 2 {
		t.Fatalf("the program writes %v: %v", written, err)
	}
	for _, file := range written {
		if read(t, filepath.Join(dir, file.Name())) != read(t, component+"/dashboards/"+file.Name()) {
			t.Errorf("%s is not up to date: run make dashboards", file.Name())
		}
	}
}

// labelValues matches the query of a dashboard's variable, such as label_values(memcached_up, namespace).
var labelValues = regexp.MustCompile(`^label_values\((.+), ([a-z_]+)\)$`)

func TestDashboardsUseOnlyWhatExists(t *testing.T) {
	all := known(t)
	all.record(t, rules(t))
	for name, dashboard := range dashboards(t) {
		for _, panel := range dashboard.Panels {
			for _, query := range panel.Targets {
				has, err := all.check(query.Expr)
				if err != nil {
					t.Errorf("%s, %s: %v", name, panel.Title, err)
				}
				if lacks := has.lacks(mentioned(query.LegendFormat)); len(lacks) > 0 {
					t.Errorf("%s, %s: the legend mentions %q, which the query does not have", name, panel.Title, lacks)
				}
			}
		}
		for _, variable := range dashboard.Templating.List {
			if variable.Type == "datasource" {
				continue
			}
			match := labelValues.FindStringSubmatch(variable.Query)
			if match == nil {
				t.Errorf("%s: the query of the variable %s is %s", name, variable.Name, variable.Query)
				continue
			}
			if has, err := all.check(match[1]); err != nil || !has[match[2]] {
				t.Errorf("%s: the variable %s has no values: %v", name, variable.Name, err)
			}
		}
	}
}

// used matches a variable in a text, such as $namespace or ${namespace}.
var used = regexp.MustCompile(`\$\{?([a-z]\w*)`)

func TestPanelsAreComplete(t *testing.T) {
	uids := map[string]bool{}
	for name, dashboard := range dashboards(t) {
		if dashboard.SchemaVersion != schemaVersion || dashboard.UID == "" || dashboard.Description == "" || uids[dashboard.UID] {
			t.Errorf("%s has the UID %q, the schema version %d and the description %q",
				name, dashboard.UID, dashboard.SchemaVersion, dashboard.Description)
		}
		uids[dashboard.UID] = true
		variables := []string{"__field"}
		for _, variable := range dashboard.Templating.List {
			variables = append(variables, variable.Name)
		}
		for _, match := range used.FindAllStringSubmatch(readDashboard(t, name), -1) {
			if !slices.Contains(variables, match[1]) {
				t.Errorf("%s uses the variable %s, which it does not have", name, match[1])
			}
		}
		titles := map[string]bool{}
		for _, panel := range dashboard.Panels {
			checkPanel(t, name, panel)
			if titles[panel.Title] {
				t.Errorf("%s has two panels %s", name, panel.Title)
			}
			titles[panel.Title] = true
		}
		checkLayout(t, name, dashboard.Panels)
	}
}

func checkPanel(t *testing.T, name string, panel panel) {
	t.Helper()
	if panel.Title == "" || !strings.HasSuffix(panel.Description, ".") || panel.FieldConfig.Defaults.Unit == "" || len(panel.Targets) == 0 {
		t.Errorf("%s, %s: description %q, unit %q, %d queries",
			name, panel.Title, panel.Description, panel.FieldConfig.Defaults.Unit, len(panel.Targets))
	}
	if panel.Datasource.UID != "${datasource}" {
		t.Errorf("%s, %s reads from %s", name, panel.Title, panel.Datasource.UID)
	}
	for _, query := range panel.Targets {
		if query.LegendFormat == "" && panel.Type == "timeseries" {
			t.Errorf("%s, %s: a query has no legend", name, panel.Title)
		}
	}
}

func checkLayout(t *testing.T, name string, panels []panel) {
	t.Helper()
	taken := map[[2]int]string{}
	for _, panel := range panels {
		at := panel.GridPos
		if at.W <= 0 || at.H <= 0 || at.X+at.W > columns {
			t.Errorf("%s, %s is at %+v", name, panel.Title, at)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s: %s and %s overlap", name, panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
}
