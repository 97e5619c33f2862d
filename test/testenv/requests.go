// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// Request is a request that a client sent to an API server.
type Request struct {
	Verb, Resource, Subresource, Namespace, Name string
	// Code is the HTTP status, or 0 if there was no response.
	Code int
}

// String returns the request as a test expects it, such as "patch services", or "update memcacheds/status (409)" for an error.
func (r Request) String() string {
	s := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	if r.Code >= http.StatusBadRequest {
		s += fmt.Sprintf(" (%d)", r.Code)
	}
	return s
}

// Write reports whether the request asks for a change.
func (r Request) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Requests records the requests of clients. Timing decides whether clients send requests for Leases, for events or for a path without
// a resource, such as /version. A test cannot expect such requests, so only Refused returns them. Before a method returns
// requests, it waits until none is pending. So a test that sees the effect of a write also finds the write.
type Requests struct {
	unanswered sync.RWMutex

	mutex    sync.Mutex
	requests []Request
}

// Record returns a copy of a client configuration that records the requests of clients.
func (r *Requests) Record(config *rest.Config) *rest.Config {
	recorded := rest.CopyConfig(config)
	recorded.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next: next, requests: r} })
	return recorded
}

// Reset forgets what was recorded.
func (r *Requests) Reset() {
	r.unanswered.Lock()
	defer r.unanswered.Unlock()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.requests = nil
}

// Writes returns the requests so far that ask for a change, sorted.
func (r *Requests) Writes() []string {
	return r.list(Request.Write)
}

// Gets returns the requests so far that read a single object, sorted.
func (r *Requests) Gets() []string {
	return r.list(func(request Request) bool { return request.Verb == "get" })
}

// Lists returns the requests so far that list objects, sorted.
func (r *Requests) Lists() []string {
	return r.list(func(request Request) bool { return request.Verb == "list" })
}

// Refused returns the requests that the API server refused with the status 403, sorted.
func (r *Requests) Refused() []string {
	return r.all(func(request Request) bool { return request.Code == http.StatusForbidden })
}

// list returns the wanted requests, sorted. It leaves out requests that depend on timing: see Requests.
func (r *Requests) list(wanted func(Request) bool) []string {
	return r.all(func(request Request) bool {
		object := !strings.HasPrefix(request.Resource, "/") && request.Resource != "events" && request.Resource != "leases"
		return object && wanted(request)
	})
}

func (r *Requests) all(wanted func(Request) bool) []string {
	r.unanswered.Lock()
	defer r.unanswered.Unlock()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	texts := []string{}
	for _, request := range r.requests {
		if wanted(request) {
			texts = append(texts, request.String())
		}
	}
	slices.Sort(texts)
	return texts
}

var resolver = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

type recorder struct {
	next     http.RoundTripper
	requests *Requests
}

func (r recorder) RoundTrip(httpRequest *http.Request) (*http.Response, error) {
	info, infoErr := resolver.NewRequestInfo(httpRequest)
	if infoErr != nil {
		return r.next.RoundTrip(httpRequest)
	}
	if !info.IsResourceRequest {
		info.Resource = info.Path
	}
	r.requests.unanswered.RLock()
	defer r.requests.unanswered.RUnlock()
	response, err := r.next.RoundTrip(httpRequest)
	recorded := Request{
		Verb: strings.ToLower(info.Verb), Resource: info.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name,
	}
	if response != nil {
		recorded.Code = response.StatusCode
	}
	r.requests.mutex.Lock()
	defer r.requests.mutex.Unlock()
	r.requests.requests = append(r.requests.requests, recorded)
	return response, err
}
