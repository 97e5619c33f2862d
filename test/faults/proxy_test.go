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

	"github.com/example/memcached-operator/internal/testenv"
)

// write is a request of the operator that is meant to change something. Leases and events are none.
type write struct {
	testenv.Request
	// nth is which one of its kind it is, from 1, since the last turn of the scenario.
	nth  int
	turn int
}

// kind is the verb and the resource, such as patch memcacheds/status.
func (w write) kind() string {
	request := w.Request
	request.Code = 0
	return request.String()
}

// proxy stands between the operator and the API server in one plan. It survives the crashes of the operator.
type proxy struct {
	target    *url.URL
	transport http.RoundTripper

	mutex sync.Mutex
	// fault is what is to happen, nil for nothing. It is armed by begin, and counts from there.
	fault *fault
	armed bool
	// bitten is closed when the fault has happened.
	bitten chan struct{}
	writes []write
	// turn counts the turns that the scenario has taken.
	turn int
	// delivered counts the events of each resource since begin.
	delivered map[string]int
	// crash ends the present process of the operator and starts another one.
	crash func()
	// snapshots are the lists of before begin, by resource, which a stale API server would still serve.
	snapshots map[string][]byte
	// late are the resources that are served from the snapshots, until they were; listed are those that were listed so.
	late, listed sets.Set[string]
}

func newProxy() (*proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parse the address of the API server: %w", err)
	}
	if target.Scheme == "" {
		target = &url.URL{Scheme: "https", Host: config.Host}
	}
	transport, err := sharedTransport()
	return &proxy{
		target: target, transport: transport, bitten: make(chan struct{}), delivered: map[string]int{},
		snapshots: map[string][]byte{}, late: sets.Set[string]{}, listed: sets.Set[string]{}, crash: func() {},
	}, err
}

// sharedTransport authenticates against the API server.
var sharedTransport = sync.OnceValues(func() (http.RoundTripper, error) {
	return rest.TransportFor(rest.CopyConfig(config))
})

// begin arms the fault: what happens before is not the matter of the scenario.
func (p *proxy) begin(f *fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault, p.armed = f, true
	p.writes = nil
	clear(p.delivered)
}

// next begins to count anew: how often the operator has tried what was refused does not matter for what follows.
func (p *proxy) next() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.turn++
}

// written are the writes since begin.
func (p *proxy) written() []write {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.writes)
}

// missed says whether there was an occasion for a fault that has not happened.
func (p *proxy) missed(f *fault) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if f.watch != "" {
		return p.fault != nil && p.delivered[f.watch] > 0
	}
	return p.fault != nil && slices.ContainsFunc(p.writes, f.concerns)
}

// counts are how many events of each resource were delivered since begin.
func (p *proxy) counts() map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return maps.Clone(p.delivered)
}

// listener is the proxy as one process of the operator sees it.
type listener struct {
	*proxy
	server *httptest.Server
	closed atomic.Bool
	end    sync.Once
	// down ends what is held back for this process.
	down chan struct{}
}

// listen opens the proxy for a process.
func (p *proxy) listen() *listener {
	l := &listener{proxy: p, down: make(chan struct{})}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.target)
		},
		Transport:      p.transport,
		FlushInterval:  -1,
		ModifyResponse: l.filter,
		ErrorLog:       log.New(io.Discard, "", 0), // streams that are cut are what this is for
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	l.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.serve(w, r, forward)
	}))
	l.server.Start()
	return l
}

// close lets no request pass any more, neither to the API server nor back.
func (l *listener) close() {
	l.closed.Store(true)
	l.end.Do(func() {
		close(l.down)
		l.server.CloseClientConnections()
		go l.server.Close() // waits for handlers, which may wait for the process to end
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
	case l.servesLate(w, r, info):
	default:
		forward.ServeHTTP(w, r)
	}
}

// write forwards a write unless the fault is for it.
func (l *listener) write(w http.ResponseWriter, r *http.Request, request testenv.Request, forward http.Handler) {
	index, strike := l.count(request)
	answer := httptest.NewRecorder()
	if strike == nil || strike.commits() {
		forward.ServeHTTP(answer, r)
	}
	if strike == nil {
		l.note(index, answer.Code)
		maps.Copy(w.Header(), answer.Header())
		if l.closed.Load() {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
		return
	}
	defer close(l.bitten)
	if strike.commits() {
		l.note(index, answer.Code)
	}
	strike.answer(l, w, r)
}

// count records a write and says what is to happen to it: nil for nothing.
func (l *listener) count(request testenv.Request) (index int, strike *fault) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	recorded := write{Request: request, nth: 1, turn: l.turn}
	for _, w := range l.writes {
		if w.kind() == recorded.kind() && w.turn == l.turn {
			recorded.nth++
		}
	}
	if l.armed {
		l.writes = append(l.writes, recorded)
	}
	if f := l.fault; f != nil && f.concerns(recorded) {
		l.fault, strike = nil, f
	}
	return len(l.writes) - 1, strike
}

func (l *listener) note(index, code int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if index >= 0 && index < len(l.writes) {
		l.writes[index].Code = code
	}
}
