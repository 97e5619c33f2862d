// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/singleflight"
)

// maxScrapes limits simultaneous scrapes, to save memory. It exceeds listener.PerHost, the number of connections that one IP address
// can have. So a single host cannot reach the limit.
const maxScrapes = 8

// The query parameter collect[] of /metrics, as in node_exporter, and its values. Without the parameter, /metrics shows all series.
const (
	collectParameter = "collect[]"
	collectMemcached = "memcached"
	collectSlabs     = "slabs"
	collectAgent     = "agent"
)

// collectorOf returns the value of collect[] that selects a family.
func collectorOf(family string) string {
	switch {
	case strings.HasPrefix(family, "memcached_slab_"):
		return collectSlabs
	case strings.HasPrefix(family, "memcached_") && !strings.HasPrefix(family, "memcached_agent_"):
		return collectMemcached
	default:
		return collectAgent
	}
}

// newExposition returns the handler of /metrics, which serves the series of the registry.
func newExposition(registry prometheus.Gatherer) http.Handler {
	shared, slots := &sharedGatherer{registry: registry}, make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted := r.URL.Query()[collectParameter]
		for _, value := range wanted {
			if !slices.Contains([]string{collectMemcached, collectSlabs, collectAgent}, value) {
				http.Error(w, fmt.Sprintf("%s must be %s, %s or %s, not %.20q", collectParameter, collectMemcached, collectSlabs, collectAgent,
					value), http.StatusBadRequest)
				return
			}
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, fmt.Sprintf("the limit of %d concurrent scrapes is reached, try again later", maxScrapes), http.StatusServiceUnavailable)
			return
		}
		promhttp.HandlerFor(selected{shared, wanted}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// selected gathers the families that the values of collect[] select, or all families if there are no values.
type selected struct {
	gatherer   prometheus.Gatherer
	collectors []string
}

// Gather implements prometheus.Gatherer.
func (s selected) Gather() ([]*dto.MetricFamily, error) {
	families, err := s.gatherer.Gather()
	if len(s.collectors) == 0 {
		return families, err
	}
	var kept []*dto.MetricFamily // a new slice, because simultaneous scrapes share the slice families
	for _, family := range families {
		if slices.Contains(s.collectors, collectorOf(family.GetName())) {
			kept = append(kept, family)
		}
	}
	return kept, err
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
