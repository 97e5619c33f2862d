// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Paths of the files of the monitoring component, relative to the root of the repository.
const (
	RulesFile      = "config/components/monitoring/rules.yaml"
	FleetDashboard = "config/components/monitoring/dashboards/fleet.json"
	CacheDashboard = "config/components/monitoring/dashboards/cache.json"
)

// Rule has the fields of a recording rule or an alert that tests read.
type Rule struct {
	Record, Alert, Expr, For string
	Annotations              map[string]string
}

// Rules parses a PrometheusRule. It returns the rules, and the content of a rule file for a Prometheus that runs without the
// Prometheus operator.
func Rules(prometheusRule string) (rules []Rule, file []byte, err error) {
	var object struct{ Spec json.RawMessage }
	if err := yaml.Unmarshal([]byte(prometheusRule), &object); err != nil {
		return nil, nil, fmt.Errorf("parse the PrometheusRule: %w", err)
	}
	var spec struct{ Groups []struct{ Rules []Rule } }
	if err := json.Unmarshal(object.Spec, &spec); err != nil {
		return nil, nil, fmt.Errorf("parse the spec of the PrometheusRule: %w", err)
	}
	for _, group := range spec.Groups {
		rules = append(rules, group.Rules...)
	}
	file, err = yaml.JSONToYAML(object.Spec)
	return rules, file, err
}

// Dashboard has the fields of a Grafana dashboard that tests read.
type Dashboard struct {
	Title  string
	Panels []Panel
}

// Panel is a panel of a dashboard. It shows the results of its queries.
type Panel struct {
	Title   string
	Targets []Query
}

// Query is a PromQL query of a panel.
type Query struct{ Expr string }

// ParseDashboard parses the JSON of a dashboard.
func ParseDashboard(content string) (Dashboard, error) {
	var dashboard Dashboard
	if err := json.Unmarshal([]byte(content), &dashboard); err != nil {
		return Dashboard{}, fmt.Errorf("parse the dashboard: %w", err)
	}
	return dashboard, nil
}
