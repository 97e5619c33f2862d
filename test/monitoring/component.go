// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring parses the rules and dashboards in config/components/monitoring, shortens their durations so that a test takes
// minutes instead of days, and queries a Prometheus.
package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
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

// duration matches the duration of a range, of a subquery's step, of an offset, or of the "for" of an alert. Group 1 is the text
// before the duration, and group 2 is the duration.
var duration = regexp.MustCompile(`(\[|:|\boffset |\bfor: )(\d+(?:ms|[smhdwy]))\b`)

// Faster divides the durations in the expressions of rules or dashboards, and the "for" of each alert, by a factor. The caller must
// shorten the scrape interval, too, so that each range still contains several scrapes.
func Faster(text string, factor int64) string {
	return duration.ReplaceAllStringFunc(text, func(match string) string {
		parts := duration.FindStringSubmatch(match)
		long, err := model.ParseDuration(parts[2])
		if err != nil {
			panic(err) // what the pattern matches is a duration
		}
		return parts[1] + (long / model.Duration(factor)).String()
	})
}

const step = time.Second

// Prometheus is a client of a Prometheus server.
type Prometheus struct{ api prometheusv1.API }

// Connect returns a client of the Prometheus at a URL.
func Connect(url string) (Prometheus, error) {
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		return Prometheus{}, err
	}
	return Prometheus{prometheusv1.NewAPI(client)}, nil
}

// Between returns the values of a query from one time to another, one per step.
func (p Prometheus) Between(ctx context.Context, query string, from, to time.Time) (model.Matrix, error) {
	value, _, _, err := p.api.QueryRange(ctx, query, prometheusv1.Range{Start: from, End: to, Step: step})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("%s: the result is a %s", query, value.Type())
	}
	return matrix, nil
}
