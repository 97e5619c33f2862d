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

// Request is a request that an API server answered.
type Request struct {
	Verb, Resource, Subresource, Namespace, Name string
	// Code is the HTTP status; 0 if there was no answer.
	Code int
}

// String returns the verb, the resource with its subresource, and the status if it is an error.
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

// Write reports whether the request was meant to change something.
func (r Request) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Requests records what clients send. Leases, events and requests that are not about resources depend on clocks, so only Refused
// reports them. Reading the records first waits until no request is pending, so a test that sees the effect of a write also finds
// the write.
type Requests struct {
	unanswered sync.RWMutex

	mutex    sync.Mutex
	requests []Request
}

// Record returns a copy of a client configuration. The requests of clients with this copy are recorded.
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

// Writes returns the writes so far, sorted.
func (r *Requests) Writes() []string {
	return r.list(Request.Write)
}

// Gets returns the reads of single objects so far, sorted. Lists and watches are not among them.
func (r *Requests) Gets() []string {
	return r.list(func(request Request) bool { return request.Verb == "get" })
}

// Lists returns the lists so far, sorted.
func (r *Requests) Lists() []string {
	return r.list(func(request Request) bool { return request.Verb == "list" })
}

// Refused returns the requests of any kind that were forbidden, sorted.
func (r *Requests) Refused() []string {
	return r.all(func(request Request) bool { return request.Code == http.StatusForbidden })
}

// list returns the wanted requests for resources. It leaves out events and leases.
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
