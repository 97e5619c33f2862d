// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sync/singleflight"
)

// format is what every version of Prometheus reads.
var format = expfmt.NewFormat(expfmt.TypeTextPlain)

// maxScrapes is how many scrapes may wait for memcached, or for a slow client, at the same time. No host has so many connections.
const maxScrapes = 8

// exposition serves /metrics. promhttp would gather and encode the series for each of several simultaneous scrapes, which on a
// node with many slab classes takes more memory than the agent has. Here they share the text.
type exposition struct {
	registry prometheus.Gatherer
	texts    singleflight.Group
	// scrapes has room for maxScrapes.
	scrapes chan struct{}
}

func newExposition(registry prometheus.Gatherer) *exposition {
	return &exposition{registry: registry, scrapes: make(chan struct{}, maxScrapes)}
}

// ServeHTTP implements http.Handler.
func (e *exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case e.scrapes <- struct{}{}:
		defer func() { <-e.scrapes }()
	default:
		http.Error(w, "too many simultaneous scrapes", http.StatusServiceUnavailable)
		return
	}
	encoding := ""
	if acceptsGzip(r.Header) {
		encoding = "gzip"
	}
	shared, err, _ := e.texts.Do(encoding, func() (any, error) { return e.text(encoding) })
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(format))
	w.Header().Set("Vary", "Accept-Encoding")
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	text, _ := shared.([]byte)
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// text returns all series, as they are now.
func (e *exposition) text(encoding string) ([]byte, error) {
	families, err := e.registry.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if encoding == "" {
		err := encode(&text, families)
		return text.Bytes(), err
	}
	compressor := gzip.NewWriter(&text)
	if err := encode(compressor, families); err != nil {
		return nil, err
	}
	err = compressor.Close()
	return text.Bytes(), err
}

func encode(to io.Writer, families []*dto.MetricFamily) error {
	encoder := expfmt.NewEncoder(to, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return nil
}

// acceptsGzip reports whether a client takes gzip, which it can rule out with a quality of 0.
func acceptsGzip(header http.Header) bool {
	for encoding := range strings.SplitSeq(header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(encoding, " ", ""), ";")
		if name == "gzip" {
			return quality == "" || strings.Trim(quality, "q=0.") != ""
		}
	}
	return false
}
