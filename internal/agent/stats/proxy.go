// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/memcache"
)

// Families that only a proxy has, and that have a label. memcached reports one statistic for each value of the label.
var (
	proxyRequests = counter("proxy_requests_total", "Requests of clients by command.", "command")
	backendAway   = gauge("proxy_backend_away",
		"Worker threads of the proxy that cannot reach a node. A node that all of them reach has no series.", "backend")
	missedWrites = counter("proxy_missed_writes_total",
		"Writes that a copy has not answered while another one has, by the number of its pool from 1 on.", "copy")
	foundInCopy = counter("proxy_found_in_copy_total",
		"Reads that a copy has answered because those before it lacked the key or did not answer.", "copy")
)

// labeled maps statistics in the reply to "stats proxy" to families, by the prefix of the name. The rest of the name becomes the value
// of the label.
var labeled = []struct {
	prefix string
	family *Family
}{{"cmd_", proxyRequests}, {"user_missed_writes_", missedWrites}, {"user_found_in_copy_", foundInCopy}}

// proxied maps statistics in the reply to "stats" to series that only a proxy has. They have no label.
var proxied = []source{
	{"proxy_req_active", gauge("proxy_active_requests", "Requests that wait for a node."), nil},
	{"proxy_conn_errors", counter("proxy_request_errors_total", "Requests that were answered with an error of the proxy."), nil},
	{"proxy_conn_oom", counter("proxy_buffer_errors_total",
		"Requests that were answered with an error because clients read too slowly what they had asked for."), nil},
	{"get_misses", counter("proxy_away_misses_total", "Gets that were answered with a miss because their node is away."), nil},
	{"proxy_backend_failed", counter("proxy_backend_failures_total", "Failures of connections to nodes."), nil},
	{"proxy_backend_marked_bad", counter("proxy_backend_marked_away_total",
		"Times that a worker thread began to treat a node as away."), nil},
	{"proxy_config_reloads", counter("proxy_config_reloads_total", "Times that memcached has read its routes."), nil},
	{"proxy_config_reload_fails", counter("proxy_config_reload_failures_total", "Times that memcached could not read its routes."), nil},
}

// ProxyFamilies returns the families of a proxy, without duplicates. None of them is about items, because a proxy stores no items.
func ProxyFamilies() []*Family {
	return familiesOf([]*Family{Up, version, proxyRequests, backendAway, missedWrites, foundInCopy}, process, settings, proxied)
}

// Proxy are the statistics of a proxy, under memcached's names.
type Proxy struct {
	// General is the reply to "stats", and Settings the reply to "stats settings".
	General, Settings map[string]string
	// Commands is the reply to "stats proxy": statistics such as cmd_get, and the counters user_missed_writes_N and user_found_in_copy_N
	// of internal/agent/parent/copies.lua.
	Commands map[string]string
	// Backends is the reply to "stats proxybe". Its statistic bad_HOST is about a node that the proxy cannot reach.
	Backends map[string]string
}

// ReadProxy reads the statistics of a proxy.
func ReadProxy(ctx context.Context, conn *memcache.Conn) (*Proxy, error) {
	var p Proxy
	for _, read := range []struct {
		topic []string
		into  *map[string]string
	}{
		{nil, &p.General}, {[]string{"settings"}, &p.Settings}, {[]string{"proxy"}, &p.Commands}, {[]string{"proxybe"}, &p.Backends},
	} {
		var err error
		if *read.into, err = conn.Stats(ctx, read.topic...); err != nil {
			return nil, err
		}
	}
	return &p, nil
}

// Collect sends the series of the statistics, as Stats.Collect does. It also returns an error if the name of a node is malformed.
func (p *Proxy) Collect(series chan<- prometheus.Metric) error {
	c := &collection{series: series}
	c.addVersion(p.General)
	c.add(process, p.General)
	c.add(settings, p.Settings)
	c.add(proxied, p.General)
	for stat := range p.Commands {
		for _, source := range labeled {
			label, counts := strings.CutPrefix(stat, source.prefix)
			if !counts || !printable(label) {
				continue
			}
			if value, ok := c.value(p.Commands, stat); ok {
				series <- source.family.Metric(value, label)
			}
		}
	}
	for stat := range p.Backends {
		host, away := strings.CutPrefix(stat, "bad_")
		if !away {
			continue
		}
		if !printable(host) {
			c.err = fmt.Errorf("%w: backend %s", memcache.ErrMalformed, quoted(host))
			continue
		}
		if value, ok := c.value(p.Backends, stat); ok {
			series <- backendAway.Metric(value, strings.TrimSuffix(host, "."))
		}
	}
	return c.err
}
