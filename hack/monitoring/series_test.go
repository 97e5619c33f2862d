// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// Files of the repository's root module. This folder belongs to another module.
const (
	root           = "../.."
	component      = root + "/config/components/monitoring"
	exporterSeries = root + "/internal/agent/stats/testdata/memcached_exporter-0.16.0.txt"
	operatorSeries = root + "/internal/metrics/metrics.go"
	agentSeries    = root + "/internal/agent/credentialseries.go"
	proxySeries    = root + "/internal/agent/stats/proxy.go"
	launcherSeries = root + "/internal/agent/launcherseries.go"
)

// labelSet contains the names of the labels that a series can have.
type labelSet map[string]bool

func labels(names ...string) labelSet {
	set := labelSet{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (s labelSet) with(names ...string) labelSet {
	union := maps.Clone(s)
	for _, name := range names {
		union[name] = true
	}
	return union
}

func (s labelSet) lacks(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s[name] || name == "__name__" })
}

// Labels that each series from a source can have. The sources are the agents of nodes and proxies, the operator, cAdvisor, and
// kube-state-metrics.
var (
	ofNodes    = labels("namespace", "pod", "container", "job", "instance", "endpoint", "memcached", "memcachedproxy")
	ofOperator = labels("namespace", "pod", "container", "job", "instance", "endpoint", "service", "exported_namespace")
	ofCAdvisor = labels("namespace", "pod", "container", "job", "instance", "node", "id", "name", "image")
	// The rules assume that Prometheus scrapes kube-state-metrics with honor_labels. Then the labels "pod" and "container" name what a
	// series is about, instead of kube-state-metrics itself.
	ofStateMetrics = labels("namespace", "pod", "container", "job", "instance", "node", "uid", "resource", "unit")
)

// series maps the name of each known series to the labels that it can have.
type series map[string]labelSet

// known returns the series that the rules and dashboards may use, without those of recording rules.
func known(t *testing.T) series {
	t.Helper()
	all := series{
		"up":                                 ofNodes, // the rules use it only for the agents of nodes and proxies
		"container_memory_working_set_bytes": ofCAdvisor,
		"container_spec_memory_limit_bytes":  ofCAdvisor,
		"leader_election_master_status":      ofOperator.with("name"),
		"ALERTS":                             ofNodes.with("alertname", "alertstate", "severity", "kind", "condition", "status"),

		"kube_pod_container_resource_limits":      ofStateMetrics,
		"kube_pod_init_container_resource_limits": ofStateMetrics,
	}
	for line := range strings.Lines(read(t, exporterSeries)) {
		if fields := strings.Split(line, "\t"); len(fields) > 2 {
			all[fields[0]] = ofNodes
			if fields[2] != "-" {
				all[fields[0]] = ofNodes.with(strings.Split(fields[2], ",")...)
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("%s has only %d series", exporterSeries, len(all))
	}
	source := read(t, agentSeries)
	for name, own := range map[string][]string{
		"memcached_agent_certificate_info":                     {"serial"},
		"memcached_agent_certificate_expiry_timestamp_seconds": nil,
		"memcached_agent_reload_success":                       nil,
		"memcached_agent_last_reload_timestamp_seconds":        nil,
		"memcached_agent_restart_required":                     {"reason"},
	} {
		if !strings.Contains(source, `"`+name+`"`) {
			t.Errorf("%s does not define %s", agentSeries, name)
		}
		all[name] = ofNodes.with(own...)
	}
	source = read(t, proxySeries) + strings.ReplaceAll(read(t, launcherSeries), `"memcached_`, `"`)
	for name, own := range map[string][]string{
		"proxy_requests_total": {"command"}, "proxy_backend_away": {"backend"}, "proxy_routes_refused": nil,
		"proxy_missed_writes_total": {"copy"},
	} {
		if !strings.Contains(source, `"`+name+`"`) {
			t.Errorf("neither %s nor %s defines %s", proxySeries, launcherSeries, name)
		}
		all["memcached_"+name] = ofNodes.with(own...)
	}
	if !strings.Contains(read(t, launcherSeries), `"memcached_fill_complete"`) {
		t.Errorf("%s does not define memcached_fill_complete", launcherSeries)
	}
	all["memcached_fill_complete"] = ofNodes
	instance := []string{"namespace", "name"}
	source = read(t, operatorSeries)
	for name, own := range map[string][]string{
		"memcached_operator_reconciles_total":            {"reason"},
		"memcached_operator_corrections_total":           {"kind"},
		"memcached_operator_lost_pods_deleted_total":     nil,
		"memcached_operator_memcached_condition":         append(instance, "condition", "status"),
		"memcached_operator_memcached_desired_nodes":     instance,
		"memcached_operator_memcached_ready_nodes":       instance,
		"memcached_operator_memcached_item_memory_bytes": instance,
		"memcached_operator_memcached_max_connections":   instance,
		"memcached_operator_memcached_stuck":             instance,
	} {
		if !strings.Contains(source, `"`+name+`"`) {
			t.Errorf("%s does not define %s", operatorSeries, name)
		}
		all[name] = ofOperator.with(own...)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// grafanaVariables replaces Grafana's variables for durations, which PromQL does not know.
var grafanaVariables = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "1h")

// check parses an expression and returns the labels that its result can have. It returns an error for unknown series and labels.
func (s series) check(expression string) (labelSet, error) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(grafanaVariables.Replace(expression))
	if err != nil {
		return nil, err
	}
	return s.labelsOf(parsed)
}

func (s series) labelsOf(node parser.Expr) (labelSet, error) {
	switch node := node.(type) {
	case *parser.NumberLiteral, *parser.StringLiteral:
		return labelSet{}, nil
	case *parser.ParenExpr:
		return s.labelsOf(node.Expr)
	case *parser.UnaryExpr:
		return s.labelsOf(node.Expr)
	case *parser.SubqueryExpr:
		return s.labelsOf(node.Expr)
	case *parser.MatrixSelector:
		return s.labelsOf(node.VectorSelector)
	case *parser.VectorSelector:
		return s.selected(node)
	case *parser.AggregateExpr:
		return s.aggregated(node)
	case *parser.BinaryExpr:
		return s.joined(node)
	case *parser.Call:
		return s.called(node)
	}
	return nil, fmt.Errorf("the test does not know %T", node)
}

func (s series) selected(selector *parser.VectorSelector) (labelSet, error) {
	has, exists := s[selector.Name]
	if !exists {
		return nil, fmt.Errorf("there is no series %q", selector.Name)
	}
	for _, matcher := range selector.LabelMatchers {
		if lacks := has.lacks([]string{matcher.Name}); len(lacks) > 0 {
			return nil, fmt.Errorf("%s has no labels %q", selector.Name, lacks)
		}
	}
	return has, nil
}

func (s series) aggregated(aggregate *parser.AggregateExpr) (labelSet, error) {
	has, err := s.labelsOf(aggregate.Expr)
	if err != nil {
		return nil, err
	}
	if lacks := has.lacks(aggregate.Grouping); len(lacks) > 0 {
		return nil, fmt.Errorf("%s groups by %q, which are not there", aggregate, lacks)
	}
	switch {
	case aggregate.Without:
		has = maps.Clone(has)
		maps.DeleteFunc(has, func(name string, _ bool) bool { return slices.Contains(aggregate.Grouping, name) })
		return has, nil
	case aggregate.Op == parser.TOPK || aggregate.Op == parser.BOTTOMK:
		return has, nil
	}
	return labels(aggregate.Grouping...), nil
}

func (s series) joined(binary *parser.BinaryExpr) (labelSet, error) {
	left, err := s.labelsOf(binary.LHS)
	if err != nil {
		return nil, err
	}
	right, err := s.labelsOf(binary.RHS)
	if err != nil || binary.VectorMatching == nil {
		if len(left) == 0 {
			return right, err
		}
		return left, err
	}
	matching := binary.VectorMatching
	for _, side := range []labelSet{left, right} {
		if lacks := side.lacks(matching.MatchingLabels); len(lacks) > 0 {
			return nil, fmt.Errorf("%s matches by %q, which are not on both sides", binary, lacks)
		}
	}
	if lacks := right.lacks(matching.Include); len(lacks) > 0 {
		return nil, fmt.Errorf("%s takes %q from the right, which are not there", binary, lacks)
	}
	switch {
	case binary.Op == parser.LOR:
		return left.with(slices.Collect(maps.Keys(right))...), nil
	case matching.On && matching.Card == parser.CardOneToOne:
		return labels(matching.MatchingLabels...), nil
	case !matching.On && matching.Card != parser.CardManyToMany && len(matching.MatchingLabels) == 0 && !maps.Equal(left, right):
		return nil, fmt.Errorf("%s: the sides have different labels, %v and %v: say by which they match", binary, left, right)
	}
	return left.with(matching.Include...), nil
}

func (s series) called(call *parser.Call) (labelSet, error) {
	has := labelSet{}
	for _, argument := range call.Args {
		of, err := s.labelsOf(argument)
		if err != nil {
			return nil, err
		}
		has = has.with(slices.Collect(maps.Keys(of))...)
	}
	switch call.Func.Name {
	case "absent":
		return labelSet{}, nil
	case "label_replace":
		text := func(i int) string { return call.Args[i].(*parser.StringLiteral).Val }
		if lacks := has.lacks([]string{text(3)}); len(lacks) > 0 {
			return nil, fmt.Errorf("%s reads %q, which are not there", call, lacks)
		}
		return has.with(text(1)), nil
	}
	return has, nil
}

// templated matches a label in the text of an alert or in a legend, such as {{ $labels.pod }} or {{pod}}.
var templated = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}`)

func mentioned(text string) []string {
	var names []string
	for _, match := range templated.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

func TestWrongExpressionsAreFound(t *testing.T) {
	all := known(t)
	for expression, want := range map[string]string{
		`memcached_upp`:                               `there is no series "memcached_upp"`,
		`memcached_up{node="a"}`:                      `memcached_up has no labels ["node"]`,
		`sum by (slab) (memcached_up)`:                `groups by ["slab"]`,
		`memcached_up * on (slab) memcached_up`:       `matches by ["slab"]`,
		`rate(memcached_up[5m]`:                       "parse error",
		`sum by (pod) (memcached_up) / memcached_up`:  "different labels",
		`label_replace(up, "a", "$1", "b", "(.+)")`:   `reads ["b"]`,
		`up * on (pod) group_left (slab) up`:          `takes ["slab"]`,
		`sum by (pod) (sum by (namespace) (up))`:      `groups by ["pod"]`,
		`memcached_slab_current_pages{slab="1"} == 0`: "",
	} {
		if _, err := all.check(expression); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", expression, err, want)
		}
	}
}
