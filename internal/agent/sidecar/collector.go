// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/example/memcached-operator/internal/agent/stats"
)

// newRegistry returns a registry with the series of /metrics that every agent has. The argument version is the agent's version.
func newRegistry(memcached *collector, version string) *prometheus.Registry {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "memcached_agent_build_info",
		Help:        "1, with the version of the agent, and of the Go that built it.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(memcached, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// collector reads memcached's statistics at each scrape and turns them into series.
type collector struct {
	memcached *client
	families  []*stats.Family
	failures  *prometheus.CounterVec
	readable  *transitions
}

func newCollector(memcached *client, families []*stats.Family, readable *transitions) *collector {
	c := &collector{memcached: memcached, families: families, readable: readable, failures: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "memcached_agent_read_failures_total",
		Help: "Scrapes for which the statistics of memcached could not be read, or not all of them, by reason.",
	}, []string{"reason"})}
	for _, reason := range reasons {
		c.failures.WithLabelValues(reason) // rate() needs a value before the first increase
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	c.failures.Describe(descriptions)
	for _, family := range c.families {
		descriptions <- family.Description()
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(series chan<- prometheus.Metric) {
	up := 1.0
	read, err := c.memcached.stats()
	if err == nil {
		err = read.Collect(series)
	} else {
		up = 0
	}
	series <- stats.Up.Metric(up)
	c.readable.observe(err)
	if err != nil {
		c.failures.WithLabelValues(reasonOf(err)).Inc()
	}
	c.failures.Collect(series)
}
