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

// Series about what a node gets from its twin. They are absent without a twin, and while the launcher does not answer.
var (
	fillComplete = prometheus.NewDesc("memcached_fill_complete",
		"Whether memcached has the items that its twin had: 1 or 0.", nil, nil)
	fillItems = prometheus.NewDesc("memcached_fill_items",
		"Items of the twin since memcached started: copied, present here before, or refused because they have no place here.",
		[]string{"result"}, nil)
	fillBytes   = prometheus.NewDesc("memcached_fill_bytes", "Length of the values that were copied from the twin.", nil, nil)
	fillSeconds = prometheus.NewDesc("memcached_fill_seconds", "How long the copy took, or has taken so far.", nil, nil)
)

// fillCollector asks the launcher of a node what it gets from its twin.
type fillCollector struct {
	status func(ctx context.Context) (protocol.Status, error)
	// timeout limits the question.
	timeout time.Duration
}

func newFillCollector(o Options) fillCollector {
	launcher := ask.New()
	return fillCollector{timeout: o.Timeout, status: func(ctx context.Context) (protocol.Status, error) {
		return launcher.LauncherAt(ctx, o.NodeLauncher)
	}}
}

// Describe implements prometheus.Collector.
func (fillCollector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{fillComplete, fillItems, fillBytes, fillSeconds} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (c fillCollector) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	status, err := c.status(ctx)
	if err != nil || status.Fill == nil {
		return
	}
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	fill := status.Fill
	gauge(fillComplete, number(fill.State == protocol.FillDone))
	gauge(fillItems, float64(fill.Items), "copied")
	gauge(fillItems, float64(fill.Present), "present")
	gauge(fillItems, float64(fill.Refused), "refused")
	gauge(fillBytes, float64(fill.Bytes))
	gauge(fillSeconds, fill.Seconds)
}
