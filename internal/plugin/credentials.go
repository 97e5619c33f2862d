// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/example/memcached-operator/internal/memcached"
)

// credentialsReport is how far the certificate and the users of a node are.
type credentialsReport struct {
	// Serial and Expiry are those of the certificate that memcached serves, empty without TLS.
	Serial string     `json:"serial,omitempty"`
	Expiry *time.Time `json:"expiry,omitempty"`
	// Reload is Succeeded if memcached is verified to have read what the Secrets hold, else Failed.
	Reload string `json:"reload"`
	// LastReload is when that was last tried.
	LastReload *time.Time `json:"lastReload,omitempty"`
	// RestartRequired are the reasons why memcached must be restarted before something that was removed from a Secret has no effect.
	RestartRequired []string `json:"restartRequired,omitempty"`
}

// Values of Reload.
const (
	reloadSucceeded = "Succeeded"
	reloadFailed    = "Failed"
)

// series are the values that an agent serves, by name and labels as they are written.
type series map[string]float64

// maxSeriesBytes is more than an agent serves.
const maxSeriesBytes = 4 << 20

// hasCredentials reports whether memcached in a pod serves TLS or demands a login: its agent knows more then.
func hasCredentials(pod *corev1.Pod) bool {
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if container.Name == memcached.AgentContainerName && slices.ContainsFunc(container.Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--tls-secret=") || strings.HasPrefix(arg, "--users-secret=")
		}) {
			return true
		}
	}
	return false
}

// seriesOf asks the agents of the pods with credentials, several at the same time. One that does not answer has no series.
func (s *session) seriesOf(ctx context.Context, c *cluster, pods []corev1.Pod) []series {
	all := make([]series, len(pods))
	atOnce(len(pods), func(i int) {
		if hasCredentials(&pods[i]) && runs(&pods[i]) {
			limited, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
			defer cancel()
			all[i], _ = scrape(limited, c, &pods[i]) // what it says is shown in addition
		}
	})
	return all
}

// scrape reads the series of an agent.
func scrape(ctx context.Context, c *cluster, pod *corev1.Pod) (series, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.dial(ctx, pod, memcached.MetricsPort)
		},
	}}
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
	text, err := io.ReadAll(io.LimitReader(response.Body, maxSeriesBytes))
	return parseSeries(string(text)), err
}

// parseSeries reads the text format of Prometheus, as far as agents use it.
func parseSeries(text string) series {
	read := series{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || space < 0 {
			continue
		}
		if value, err := strconv.ParseFloat(line[space+1:], 64); err == nil {
			read[line[:space]] = value
		}
	}
	return read
}

// labelsOf are the values of the only label of a series, sorted.
func (s series) labelsOf(name, label string) []string {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		rest, found := strings.CutPrefix(key, name+"{"+label+`="`)
		if value, ends := strings.CutSuffix(rest, `"}`); found && ends {
			values = append(values, value)
		}
	}
	return values
}

func (s series) time(name string) *time.Time {
	seconds, found := s[name]
	if !found {
		return nil
	}
	at := time.Unix(int64(seconds), 0).UTC()
	return &at
}

// credentials is what the series say about certificate and users, nil if they say nothing.
func (s series) credentials() *credentialsReport {
	success, found := s["memcached_agent_reload_success"]
	if !found {
		return nil
	}
	report := &credentialsReport{
		Reload:     reloadFailed,
		Serial:     strings.Join(s.labelsOf("memcached_agent_certificate_info", "serial"), ","),
		Expiry:     s.time("memcached_agent_certificate_expiry_timestamp_seconds"),
		LastReload: s.time("memcached_agent_last_reload_timestamp_seconds"),
	}
	if success == 1 {
		report.Reload = reloadSucceeded
	}
	const restart = "memcached_agent_restart_required"
	for _, reason := range s.labelsOf(restart, "reason") {
		if s[restart+`{reason="`+reason+`"}`] == 1 {
			report.RestartRequired = append(report.RestartRequired, reason)
		}
	}
	return report
}

// statistics are those that memcached would report itself, under its names.
func (s series) statistics() map[string]string {
	statistics := map[string]string{"version": strings.Join(s.labelsOf("memcached_version", "version"), ",")}
	for name, from := range map[string]string{
		"uptime": "memcached_uptime_seconds", "curr_items": "memcached_current_items", "bytes": "memcached_current_bytes",
		"limit_maxbytes": "memcached_limit_bytes", "evictions": "memcached_items_evicted_total",
		"get_hits":         `memcached_commands_total{command="get",status="hit"}`,
		"get_misses":       `memcached_commands_total{command="get",status="miss"}`,
		"curr_connections": "memcached_current_connections",
	} {
		statistics[name] = strconv.FormatInt(int64(s[from]), 10)
	}
	return statistics
}

// addSeries adds to a node what its agent says. If memcached demands a login, which the plugin does not have, that is all there is.
func (n *nodeReport) addSeries(from series, failure error) {
	n.Credentials = from.credentials()
	if errors.Is(failure, errAuthentication) && from["memcached_up"] == 1 {
		measured := figuresOf(from.statistics())
		n.Figures, n.Problem = &measured, ""
	}
}

// Expiries that the table shows in color are those for which there are alerts.
const (
	soon     = 21 * 24 * time.Hour
	verySoon = 3 * 24 * time.Hour
)

// credentialRows are the certificates and users of the nodes as a table, nil if there is nothing to say.
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
