// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/agent/credentials"
)

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

func newCredentialsGauges(status func() credentials.Status) gauges {
	return gauges{[]*prometheus.Desc{
		certificateInfo, certificateExpiry, reloadSuccess, lastReload, restartRequired,
	}, func(_ context.Context, set setGauge) {
		status := status()
		if served := status.Served; served != nil {
			set(certificateInfo, 1, served.Serial)
			set(certificateExpiry, float64(served.Expiry.Unix()))
		}
		if !status.Attempted.IsZero() {
			set(reloadSuccess, number(status.Succeeded))
			set(lastReload, float64(status.Attempted.Unix()))
		}
		for reason, required := range status.RestartRequired {
			set(restartRequired, number(required), reason)
		}
	}, 0}
}
