// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/singleflight"
)

// maxScrapes limits the memory for scrapes. It exceeds maxConnectionsPerHost, so that no host can take all scrapes.
const maxScrapes = 8

// newExposition serves /metrics.
func newExposition(registry prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(&sharedGatherer{registry: registry}, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// sharedGatherer collects once for simultaneous scrapes. promhttp's option CoalesceGather shares a result until the last response is
// sent: clients that read slowly would freeze the series for all others.
type sharedGatherer struct {
	registry    prometheus.Gatherer
	collections singleflight.Group
}

// Gather implements prometheus.Gatherer.
func (g *sharedGatherer) Gather() ([]*dto.MetricFamily, error) {
	shared, err, _ := g.collections.Do("", func() (any, error) { return g.registry.Gather() })
	families, _ := shared.([]*dto.MetricFamily)
	return families, err
}
