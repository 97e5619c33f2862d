// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges is a collector of gauges whose values are read at each scrape.
type gauges struct {
	descriptions []*prometheus.Desc
	// read calls its argument set for each series that has a value. The context ends after the timeout.
	read    func(ctx context.Context, set setGauge)
	timeout time.Duration
}

type setGauge func(description *prometheus.Desc, value float64, labels ...string)

// Describe implements prometheus.Collector.
func (g gauges) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range g.descriptions {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
	defer cancel()
	g.read(ctx, func(description *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	})
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
