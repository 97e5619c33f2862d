// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/singleflight"
)

// maxScrapes limits simultaneous scrapes, to save memory. It exceeds server.PerHost, the number of connections that one IP address
// can have. So a single host cannot reach the limit.
const maxScrapes = 8

// newExposition returns the handler of /metrics, which serves the series of the registry.
func newExposition(registry prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(&sharedGatherer{registry: registry}, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// sharedGatherer collects once for simultaneous scrapes. promhttp's option CoalesceGather would reuse a collection until the last
// response is sent, so that one slow client would freeze the series for all clients.
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
