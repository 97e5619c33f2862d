// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

// write is a request by which the operator tries to change an object other than a lease or an event.
type write struct {
	testenv.Request
	// nth counts the writes of the same kind in the same step of the scenario, from 1.
	nth  int
	step int
}

// kind returns the verb and the resource, such as "patch memcacheds/status".
func (w write) kind() string {
	request := w.Request
	request.Code = 0
	return request.String()
}

// proxy is an HTTP proxy between one operator and the API server. It injects at most one fault. It outlives the operator's processes.
type proxy struct {
	target    *url.URL
	transport http.RoundTripper

	mutex sync.Mutex
	// fault is the fault that is still to be injected, or nil. armed reports that arm was called: the proxy counts only the writes and
	// events after that.
	fault *fault
	armed bool
	// injected is closed when the fault has been injected.
	injected chan struct{}
	writes   []write
	step     int
	// delivered counts the watch events of each resource since arm was called.
	delivered map[string]int
	// crash ends the current process of the operator, and starts another one.
	crash func()
	// snapshots are, by resource, the responses to list requests from before the user actions. A lagging API server would still send them.
	snapshots map[string][]byte
	// stale are the resources whose list requests the proxy still answers with the snapshots. listed are the resources whose snapshots it
	// has sent at least once.
	stale, listed sets.Set[string]
}

func newProxy() (*proxy, error) {
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("parse the address of the API server: %w", err)
	}
	transport, err := sharedTransport()
	return &proxy{
		target: target, transport: transport, injected: make(chan struct{}), delivered: map[string]int{},
		snapshots: map[string][]byte{}, stale: sets.Set[string]{}, listed: sets.Set[string]{}, crash: func() {},
	}, err
}

// sharedTransport returns the transport of all proxies. It authenticates to the API server.
var sharedTransport = sync.OnceValues(func() (http.RoundTripper, error) {
	return rest.TransportFor(rest.CopyConfig(config))
})

// arm sets the fault, which may be nil, and starts the counts. It is called after the setup of the scenario.
func (p *proxy) arm(f *fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault, p.armed = f, true
	p.writes = nil
	clear(p.delivered)
}

// nextStep begins the next step of the scenario, in which nth starts at 1 again. So retries in one step do not change the numbers of
// the writes in the next step.
func (p *proxy) nextStep() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.step++
}

func (p *proxy) written() []write {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.writes)
}

// reachedWithoutFault reports whether a write or an event matched the fault, but the fault was not injected.
func (p *proxy) reachedWithoutFault(f *fault) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if f.watch != "" {
		return p.fault != nil && p.delivered[f.watch] > 0
	}
	return p.fault != nil && slices.ContainsFunc(p.writes, f.matches)
}

func (p *proxy) counts() map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return maps.Clone(p.delivered)
}

// listener is the proxy's HTTP server for one process of the operator.
type listener struct {
	*proxy
	server *httptest.Server
	closed atomic.Bool
	end    sync.Once
	// down is closed to abort the requests of this process.
	down chan struct{}
}

func (p *proxy) listen() *listener {
	l := &listener{proxy: p, down: make(chan struct{})}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.target)
		},
		Transport:      p.transport,
		FlushInterval:  -1,
		ModifyResponse: l.filter,
		ErrorLog:       log.New(io.Discard, "", 0), // the proxy interrupts streams on purpose, which would be logged as errors
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	l.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.serve(w, r, forward)
	}))
	l.server.Start()
	return l
}

func (l *listener) close() {
	l.closed.Store(true)
	l.end.Do(func() {
		close(l.down)
		l.server.CloseClientConnections()
		go l.server.Close() // Close waits for handlers, which may wait for the end of the process
	})
}

var resolver = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func (l *listener) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if l.closed.Load() {
		panic(http.ErrAbortHandler)
	}
	info, err := resolver.NewRequestInfo(r)
	if err != nil {
		panic(err)
	}
	recorded := testenv.Request{
		Verb: info.Verb, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
	}
	switch {
	case recorded.Write() && info.Resource != "events" && info.Resource != "leases":
		l.write(w, r, recorded, forward)
	case l.serveStale(w, r, info):
	default:
		forward.ServeHTTP(w, r)
	}
}

// write handles a write of the operator. If the write matches the fault, the operator gets the fault's response, and the API server gets
// the write only if fault.commits returns true. All other writes are forwarded.
func (l *listener) write(w http.ResponseWriter, r *http.Request, request testenv.Request, forward http.Handler) {
	index, f := l.record(request)
	response := httptest.NewRecorder()
	if f == nil || f.commits() {
		forward.ServeHTTP(response, r)
		l.setCode(index, response.Code)
	}
	if f != nil {
		defer close(l.injected)
		f.respond(l, w, r)
		return
	}
	maps.Copy(w.Header(), response.Header())
	if l.closed.Load() {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(response.Code)
	w.Write(response.Body.Bytes())
}

// record appends a write to l.writes if the proxy is armed. index is the position of the write, or -1 if the proxy is not armed. injected
// is the fault to inject, or nil.
func (l *listener) record(request testenv.Request) (index int, injected *fault) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	recorded := write{Request: request, nth: 1, step: l.step}
	for _, w := range l.writes {
		if w.kind() == recorded.kind() && w.step == l.step {
			recorded.nth++
		}
	}
	if l.armed {
		l.writes = append(l.writes, recorded)
	}
	if f := l.fault; f != nil && f.matches(recorded) {
		l.fault, injected = nil, f
	}
	return len(l.writes) - 1, injected
}

func (l *listener) setCode(index, code int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if index >= 0 && index < len(l.writes) {
		l.writes[index].Code = code
	}
}
