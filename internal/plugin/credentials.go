// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/example/memcached-operator/internal/memcached"
)

// credentialsReport says which certificate a node serves, and whether the node uses the current content of the Secrets.
type credentialsReport struct {
	// Serial and Expiry are the serial number and the expiry of memcached's certificate. They are empty without TLS.
	Serial string     `json:"serial,omitempty"`
	Expiry *time.Time `json:"expiry,omitempty"`
	// Reload is Succeeded if the agent has verified that memcached uses the current content of the Secrets, else Failed.
	Reload string `json:"reload"`
	// LastReload is the time of the last reload, successful or not.
	LastReload *time.Time `json:"lastReload,omitempty"`
	// RestartRequired are the reasons why memcached must be restarted. Until then, a certificate, CA or user that was removed from a
	// Secret still works.
	RestartRequired []string `json:"restartRequired,omitempty"`
}

// Values of Reload.
const (
	reloadSucceeded = "Succeeded"
	reloadFailed    = "Failed"
)

// series are the metrics of an agent, by metric name.
type series map[string]*dto.MetricFamily

// maxSeriesBytes limits how much of an agent's response is read. Agents send far less.
const maxSeriesBytes = 4 << 20

// hasCredentials reports whether a pod has TLS or users. The agent of such a pod has series about them.
func hasCredentials(pod *corev1.Pod) bool { return hasTLS(pod) || hasUsers(pod) }

// hasAgent reports whether an agent runs beside the memcached of a pod.
func hasAgent(pod *corev1.Pod) bool { return agentHas(pod, "--memcached=") }

func hasTLS(pod *corev1.Pod) bool { return agentHas(pod, "--tls-secret=") }

func hasUsers(pod *corev1.Pod) bool { return agentHas(pod, "--users-secret=") }

func agentHas(pod *corev1.Pod, flag string) bool {
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if container.Name == memcached.AgentContainerName && slices.ContainsFunc(container.Args, func(arg string) bool {
			return strings.HasPrefix(arg, flag)
		}) {
			return true
		}
	}
	return false
}

// seriesOf returns the series of a pod's agent. It returns nil if the pod has neither TLS nor users, if memcached does not run, or if
// the agent does not answer.
func (s *session) seriesOf(ctx context.Context, c *cluster, pod *corev1.Pod) series {
	if !hasCredentials(pod) || !runs(pod) {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
	defer cancel()
	read, _ := scrape(limited, c, pod) // the report is useful without the series
	return read
}

func scrape(ctx context.Context, c *cluster, pod *corev1.Pod) (series, error) {
	client := &http.Client{Transport: agentTransport(c, pod)}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the agent answers %s", response.Status)
	}
	return parseSeries(io.LimitReader(response.Body, maxSeriesBytes))
}

// parseSeries reads the text format of Prometheus.
func parseSeries(text io.Reader) (series, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	return read, nil
}

// value returns the value of the metric with this name and these label values.
func (s series) value(name string, labels ...string) (value float64, found bool) {
	for _, metric := range s[name].GetMetric() {
		if slices.EqualFunc(metric.GetLabel(), labels, func(l *dto.LabelPair, want string) bool { return l.GetValue() == want }) {
			return metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + metric.GetUntyped().GetValue(), true
		}
	}
	return 0, false
}

// labels returns the label values of all metrics with this name, sorted.
func (s series) labels(name string) []string {
	var values []string
	for _, metric := range s[name].GetMetric() {
		for _, label := range metric.GetLabel() {
			values = append(values, label.GetValue())
		}
	}
	slices.Sort(values)
	return values
}

func (s series) time(name string) *time.Time {
	seconds, found := s.value(name)
	if !found {
		return nil
	}
	at := time.Unix(int64(seconds), 0).UTC()
	return &at
}

// credentials returns what the series say about credentials, or nil if they say nothing.
func (s series) credentials() *credentialsReport {
	success, found := s.value("memcached_agent_reload_success")
	if !found {
		return nil
	}
	report := &credentialsReport{
		Reload:     reloadFailed,
		Serial:     strings.Join(s.labels("memcached_agent_certificate_info"), ","),
		Expiry:     s.time("memcached_agent_certificate_expiry_timestamp_seconds"),
		LastReload: s.time("memcached_agent_last_reload_timestamp_seconds"),
	}
	if success == 1 {
		report.Reload = reloadSucceeded
	}
	const restart = "memcached_agent_restart_required"
	for _, reason := range s.labels(restart) {
		if required, _ := s.value(restart, reason); required == 1 {
			report.RestartRequired = append(report.RestartRequired, reason)
		}
	}
	return report
}

// statistics returns values from the series under the names that memcached's own statistics have.
func (s series) statistics() map[string]string {
	statistics := map[string]string{"version": strings.Join(s.labels("memcached_version"), ",")}
	for name, from := range map[string][]string{
		"uptime": {"memcached_uptime_seconds"}, "curr_items": {"memcached_current_items"}, "bytes": {"memcached_current_bytes"},
		"limit_maxbytes": {"memcached_limit_bytes"}, "evictions": {"memcached_items_evicted_total"},
		"get_hits": {"memcached_commands_total", "get", "hit"}, "get_misses": {"memcached_commands_total", "get", "miss"},
		"curr_connections": {"memcached_current_connections"},
	} {
		value, _ := s.value(from[0], from[1:]...)
		statistics[name] = strconv.FormatInt(int64(value), 10)
	}
	return statistics
}

// addSeries adds what the agent's series say about credentials. If memcached has demanded a login, addSeries also takes the figures from
// the series, and computes the rates from two readings.
func (n *nodeReport) addSeries(read readings, failure error) {
	n.Credentials = read.first.credentials()
	if up, _ := read.first.value("memcached_up"); up == 1 && errors.Is(failure, errAuthentication) {
		measured := figuresOf(read.first.statistics())
		if up, _ := read.second.value("memcached_up"); up == 1 {
			measured = withRates(figuresOf(read.second.statistics()), measured, read.interval)
		}
		n.Figures, n.Problem = &measured, ""
	}
}

// An expiry is red if less than verySoon remains, and yellow if less than soon remains. The alerts have the same limits.
const (
	soon     = 21 * 24 * time.Hour
	verySoon = 3 * 24 * time.Hour
)

// credentialRows returns a table of the nodes' credentials, or nil if no node has any.
func (r *cacheReport) credentialRows(now time.Time) [][]cell {
	rows := [][]cell{texts([]string{"NODE", "CERTIFICATE", "EXPIRES", "RELOAD", "RESTART-REQUIRED"})}
	known := false
	for i := range r.Nodes {
		row := append([]cell{text(r.Nodes[i].Name)}, texts([]string{unknownText, unknownText, unknownText, unknownText})...)
		if report := r.Nodes[i].Credentials; report != nil {
			known = true
			row = append(row[:1], report.cells(now)...)
		}
		rows = append(rows, row)
	}
	if !known {
		return nil
	}
	return rows
}

func (c *credentialsReport) cells(now time.Time) []cell {
	serial, expiry, restart := text(unknownText), text(unknownText), text(unknownText)
	if c.Serial != "" {
		serial = text(c.Serial)
	}
	if c.Expiry != nil {
		expiry = expiryCell(c.Expiry.Sub(now))
	}
	if len(c.RestartRequired) > 0 {
		restart = cell{strings.Join(c.RestartRequired, ","), yellow}
	}
	reload := cell{c.Reload, green}
	if c.Reload != reloadSucceeded {
		reload.color = red
	}
	return []cell{serial, expiry, reload, restart}
}

func expiryCell(left time.Duration) cell {
	switch {
	case left <= 0:
		return cell{duration.HumanDuration(-left) + " ago", red}
	case left < verySoon:
		return cell{"in " + duration.HumanDuration(left), red}
	case left < soon:
		return cell{"in " + duration.HumanDuration(left), yellow}
	}
	return text("in " + duration.HumanDuration(left))
}
