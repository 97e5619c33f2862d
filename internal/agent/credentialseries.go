// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/agent/credentials"
)

// Series about credentials.
var (
	certificateInfo = prometheus.NewDesc("memcached_agent_certificate_info",
		"1, with the serial number of the certificate that memcached last showed in a handshake, in lower-case hexadecimal digits.",
		[]string{"serial"}, nil)
	certificateExpiry = prometheus.NewDesc("memcached_agent_certificate_expiry_timestamp_seconds",
		"When the certificate that memcached last showed in a handshake expires.", nil, nil)
	reloadSuccess = prometheus.NewDesc("memcached_agent_reload_success",
		"Whether what the Secrets hold is valid and memcached is verified to have read it: 1 or 0.", nil, nil)
	lastReload = prometheus.NewDesc("memcached_agent_last_reload_timestamp_seconds",
		"When content of the Secrets was last read for the first time, or memcached last told to read it.", nil, nil)
	restartRequired = prometheus.NewDesc("memcached_agent_restart_required",
		"Whether memcached must be restarted, because until then something that was removed from a Secret has effect: 1 or 0.",
		[]string{"reason"}, nil)
)

// credentialsCollector shows which credentials memcached uses.
type credentialsCollector struct{ status func() credentials.Status }

// Describe implements prometheus.Collector.
func (credentialsCollector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{
		certificateInfo, certificateExpiry, reloadSuccess, lastReload, restartRequired,
	} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (c credentialsCollector) Collect(series chan<- prometheus.Metric) {
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	status := c.status()
	if served := status.Served; served != nil {
		gauge(certificateInfo, 1, served.Serial)
		gauge(certificateExpiry, float64(served.Expiry.Unix()))
	}
	if !status.Attempted.IsZero() {
		gauge(reloadSuccess, number(status.Succeeded))
		gauge(lastReload, float64(status.Attempted.Unix()))
	}
	for reason, required := range status.RestartRequired {
		gauge(restartRequired, number(required), reason)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
