// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"maps"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/singleflight"
)

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
