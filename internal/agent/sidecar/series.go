// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/singleflight"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// gauges is a collector of gauges whose values are read at each scrape. It calls its argument for each series that has a value.
type gauges func(set setGauge)

type setGauge func(description *prometheus.Desc, value float64, labels ...string)

// Describe implements prometheus.Collector. It describes nothing, so that the registry does not check the series beforehand.
func (g gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g gauges) Collect(series chan<- prometheus.Metric) {
	g(func(description *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	})
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

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
	return func(set setGauge) {
		status := status()
		if served := status.Served; served != nil {
			set(certificateInfo, 1, credentials.Serial(served))
			set(certificateExpiry, float64(served.NotAfter.Unix()))
		}
		if !status.Attempted.IsZero() {
			set(reloadSuccess, number(status.Succeeded))
			set(lastReload, float64(status.Attempted.Unix()))
		}
		for reason, required := range status.RestartRequired {
			set(restartRequired, number(required), reason)
		}
	}
}

// Series about a fill: the parent copies items from another copy of the cache into this node. The series are absent if there is one copy,
// and while the parent does not answer.
var (
	fillComplete = prometheus.NewDesc("memcached_fill_complete",
		"Whether memcached has the items that another copy had: 1 or 0.", nil, nil)
	fillItems = prometheus.NewDesc("memcached_fill_items",
		"Items of another copy since memcached started: copied, present here before, or refused because they have no place here.",
		[]string{"result"}, nil)
	fillBytes   = prometheus.NewDesc("memcached_fill_bytes", "Length of the values that were copied.", nil, nil)
	fillSeconds = prometheus.NewDesc("memcached_fill_seconds", "How long the copy took, or has taken so far.", nil, nil)
)

// Series about the routes of a proxy. They are absent while the proxy's parent does not answer.
var (
	proxyNodes = prometheus.NewDesc("memcached_proxy_nodes", "Nodes that share the keys, as this proxy sees it.", nil, nil)
	proxyStale = prometheus.NewDesc("memcached_proxy_routes_refused",
		"Whether the routes that the operator has written last are not in effect, because the proxy refused them or could not read them: 1 or 0.",
		nil, nil)
	proxyBufferRestarts = prometheus.NewDesc("memcached_proxy_buffer_restarts",
		"How often memcached was restarted because a client did not read its answers, and others got none.", nil, nil)
)

// newParentGauges returns the series that memcached's parent knows.
func newParentGauges(o Options) gauges {
	parent := protocol.NewClient()
	return func(set setGauge) {
		status, err := parent.Ask(context.Background(), "http://"+o.Parent)
		if err != nil {
			return
		}
		if proxy := status.Proxy; proxy != nil {
			set(proxyNodes, float64(proxy.Count))
			set(proxyStale, number(proxy.Refused != nil))
			set(proxyBufferRestarts, float64(proxy.BufferRestarts))
		}
		if fill := status.Fill; fill != nil {
			set(fillComplete, number(fill.State == protocol.FillDone))
			set(fillItems, float64(fill.Items), "copied")
			set(fillItems, float64(fill.Present), "present")
			set(fillItems, float64(fill.Refused), "refused")
			set(fillBytes, float64(fill.Bytes))
			set(fillSeconds, fill.Seconds)
		}
	}
}

// exposition is the handler of /metrics. Simultaneous scrapes share one collection and its encoded response, which takes far more memory to
// make than to keep.
type exposition struct {
	registry http.Handler
	scrapes  singleflight.Group
}

func newExposition(registry prometheus.Gatherer) *exposition {
	return &exposition{registry: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
}

// ServeHTTP implements http.Handler. A scrape only chooses whether its response is compressed. Otherwise, clients could make the handler
// encode as many responses at once as there are formats.
func (e *exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	encoding := "identity"
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		encoding = "gzip"
	}
	shared, _, _ := e.scrapes.Do(encoding, func() (any, error) {
		scrape := &http.Request{Method: http.MethodGet, Header: http.Header{"Accept-Encoding": {encoding}}}
		response := &response{header: http.Header{}, status: http.StatusOK}
		e.registry.ServeHTTP(response, scrape)
		return response, nil
	})
	if response, ok := shared.(*response); ok {
		maps.Copy(w.Header(), response.header)
		w.WriteHeader(response.status)
		_, _ = w.Write(response.body.Bytes()) // the client notices an error
	}
}

// response implements http.ResponseWriter. It keeps what is written.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *response) Header() http.Header            { return r.header }
func (r *response) WriteHeader(status int)         { r.status = status }
func (r *response) Write(text []byte) (int, error) { return r.body.Write(text) }
