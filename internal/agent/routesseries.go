// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// Series about the routes of a proxy. They are absent while its launcher does not answer.
var (
	proxyNodes = prometheus.NewDesc("memcached_proxy_nodes", "Nodes that share the keys, as this proxy sees it.", nil, nil)
	proxyStale = prometheus.NewDesc("memcached_proxy_routes_refused",
		"Whether the routes that the operator has written last are not in effect, because the proxy refused them or could not read them: 1 or 0.",
		nil, nil)
)

// routesCollector asks the launcher of a proxy which routes are in effect.
type routesCollector struct {
	status func(ctx context.Context) (protocol.ProxyStatus, error)
	// timeout limits the question.
	timeout time.Duration
}

func newRoutesCollector(o Options) routesCollector {
	launcher := ask.New()
	return routesCollector{timeout: o.Timeout, status: func(ctx context.Context) (protocol.ProxyStatus, error) {
		return launcher.Proxy(ctx, o.Launcher)
	}}
}

// Describe implements prometheus.Collector.
func (routesCollector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- proxyNodes
	descriptions <- proxyStale
}

// Collect implements prometheus.Collector.
func (c routesCollector) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	status, err := c.status(ctx)
	if err != nil {
		return
	}
	series <- prometheus.MustNewConstMetric(proxyNodes, prometheus.GaugeValue, float64(status.Count))
	series <- prometheus.MustNewConstMetric(proxyStale, prometheus.GaugeValue, number(status.Refused != nil))
}
