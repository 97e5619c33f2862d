// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// Series about a fill: the launcher copies items from the twin, the Memcached that spec.fillFrom names, into this node. The series are
// absent without spec.fillFrom, and while the launcher does not answer.
var (
	fillComplete = prometheus.NewDesc("memcached_fill_complete",
		"Whether memcached has the items that its twin had: 1 or 0.", nil, nil)
	fillItems = prometheus.NewDesc("memcached_fill_items",
		"Items of the twin since memcached started: copied, present here before, or refused because they have no place here.",
		[]string{"result"}, nil)
	fillBytes   = prometheus.NewDesc("memcached_fill_bytes", "Length of the values that were copied from the twin.", nil, nil)
	fillSeconds = prometheus.NewDesc("memcached_fill_seconds", "How long the copy took, or has taken so far.", nil, nil)
)

// Series about the routes of a proxy. They are absent while the proxy's launcher does not answer.
var (
	proxyNodes = prometheus.NewDesc("memcached_proxy_nodes", "Nodes that share the keys, as this proxy sees it.", nil, nil)
	proxyStale = prometheus.NewDesc("memcached_proxy_routes_refused",
		"Whether the routes that the operator has written last are not in effect, because the proxy refused them or could not read them: 1 or 0.",
		nil, nil)
	proxyBufferRestarts = prometheus.NewDesc("memcached_proxy_buffer_restarts",
		"How often memcached was restarted because a client did not read its answers, and others got none.", nil, nil)
)

func newFillGauges(o Options) gauges {
	launcher := ask.New()
	return gauges{[]*prometheus.Desc{fillComplete, fillItems, fillBytes, fillSeconds}, func(ctx context.Context, set setGauge) {
		status, err := launcher.Launcher(ctx, "http://"+o.NodeLauncher)
		if err != nil || status.Fill == nil {
			return
		}
		fill := status.Fill
		set(fillComplete, number(fill.State == protocol.FillDone))
		set(fillItems, float64(fill.Items), "copied")
		set(fillItems, float64(fill.Present), "present")
		set(fillItems, float64(fill.Refused), "refused")
		set(fillBytes, float64(fill.Bytes))
		set(fillSeconds, fill.Seconds)
	}, o.Timeout}
}

func newRoutesGauges(o Options) gauges {
	launcher := ask.New()
	return gauges{[]*prometheus.Desc{proxyNodes, proxyStale, proxyBufferRestarts}, func(ctx context.Context, set setGauge) {
		status, err := launcher.Proxy(ctx, "http://"+o.Launcher)
		if err != nil {
			return
		}
		set(proxyNodes, float64(status.Count))
		set(proxyStale, number(status.Refused != nil))
		set(proxyBufferRestarts, float64(status.BufferRestarts))
	}, o.Timeout}
}
