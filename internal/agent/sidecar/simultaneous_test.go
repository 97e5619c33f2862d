// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/example/memcached-operator/internal/agent/server"
)

// startBlocked starts an agent whose memcached answers only after the call of release.
func startBlocked(t *testing.T) (f *fake, a *agent, release func()) {
	t.Helper()
	released, answer := make(chan struct{}), recorded(t, "default")
	f = newFake(t, func(conn net.Conn) {
		<-released
		answer(conn)
	})
	o := f.options()
	o.Timeout = time.Minute
	return f, startAgent(t, o), func() { close(released) }
}

func TestSimultaneousScrapesReadOnceAtATime(t *testing.T) {
	f, a, release := startBlocked(t)
	var scrapes sync.WaitGroup
	for range server.PerHost {
		scrapes.Go(func() { a.mustScrape(t, "memcached_up 1") })
	}
	eventually(t, "a connection", func() bool {
		_, _, accepted := f.counts()
		return accepted > 0
	})
	release()
	scrapes.Wait()
	if _, most, accepted := f.counts(); most != 1 || accepted != 1 {
		t.Errorf("%d connections, %d at a time, want 1", accepted, most)
	}
}

func TestTooManySimultaneousScrapesAreRefused(t *testing.T) {
	release := make(chan struct{})
	exposition := newExposition(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		<-release
		return nil, nil
	}))
	statuses := make(chan int, maxScrapes+1)
	for range maxScrapes + 1 {
		go func() {
			response := httptest.NewRecorder()
			exposition.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			statuses <- response.Code
		}()
	}
	if status := <-statuses; status != http.StatusServiceUnavailable {
		t.Errorf("the scrape beyond the limit: %d", status)
	}
	close(release)
	for range maxScrapes {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("a scrape within the limit: %d", status)
		}
	}
}

// slowReader is a response whose client reads nothing until the test closes the channel release.
type slowReader struct {
	*httptest.ResponseRecorder

	written, release chan struct{}
}

func (r *slowReader) Write(data []byte) (int, error) {
	select {
	case r.written <- struct{}{}:
	default:
	}
	<-r.release
	return r.ResponseRecorder.Write(data)
}

// A client that does not read its response must not freeze the series that other clients get.
func TestASlowReaderDelaysNobody(t *testing.T) {
	registry, scrapes := prometheus.NewRegistry(), 0.0
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "scrapes", Help: "Scrapes so far."}, func() float64 { scrapes++; return scrapes }))
	exposition := newExposition(registry)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	slow := &slowReader{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exposition.ServeHTTP(slow, request)
	}()
	<-slow.written
	response := httptest.NewRecorder()
	exposition.ServeHTTP(response, request)
	close(slow.release)
	<-ended
	for want, got := range map[string]string{"\nscrapes 1\n": slow.Body.String(), "\nscrapes 2\n": response.Body.String()} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q, got:\n%s", want, got)
		}
	}
}
