// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
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
	for range 8 { // more would end earlier connections
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

// Simultaneous scrapes share one collection, and the memory that it takes.
func TestSimultaneousScrapesShareAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, collections := make(chan struct{}), 0
		exposition := newExposition(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			collections++
			<-release
			return nil, nil
		}))
		statuses := make(chan int, 32)
		for i := range cap(statuses) {
			go func() {
				response := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
				request.Header.Set("Accept", "application/format-"+strconv.Itoa(i)) // a client cannot ask for a response of its own
				exposition.ServeHTTP(response, request)
				statuses <- response.Code
			}()
		}
		synctest.Wait()
		close(release)
		for range cap(statuses) {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("a scrape: %d", status)
			}
		}
		if collections != 1 {
			t.Errorf("%d collections", collections)
		}
	})
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

func TestAThousandScrapesLeakNothing(t *testing.T) {
	good := recorded(t, "default")
	f := newFake(t, good)
	a := startAgent(t, f.options())
	a.mustScrape(t, "memcached_up 1")
	before := runtime.NumGoroutine()
	behaviors := []func(net.Conn){good, closesAfter(""), closesAfter("STAT pid 1\r\nSTAT"), always("nonsense\r\n"), refuses, always(unauthenticatedReply)}
	for i := range 1000 {
		f.behave(behaviors[i%len(behaviors)])
		a.get(t, "/metrics")
		if i%7 == 0 {
			f.hangUp()
		}
		if i%10 == 0 {
			a.get(t, "/readyz")
		}
	}
	f.behave(good)
	a.mustScrape(t, "memcached_up 1")
	eventually(t, "as few goroutines and connections as before", func() bool {
		open, _, _ := f.counts()
		return runtime.NumGoroutine() <= before && open == 1
	})
}
