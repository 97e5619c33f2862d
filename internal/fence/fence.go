// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fence lets a process write only while it holds its lease. Leader election alone is not enough: a leader that was paused
// for longer than the duration of its lease, for example by a frozen machine, continues to write until it next checks the lease.
package fence

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// Wrap returns a configuration whose clients send PUT, PATCH and DELETE requests only while this process holds the lease of this name.
// Such a request fails without being sent if these clients have not renewed the lease for the duration, or have released it. POST
// requests are always sent: the operator uses POST only to create events, token reviews, access reviews and its lease.
//
// Wrap recognizes the lease by its name alone, in every namespace: requests for it are always sent, and a successful update counts as
// a renewal. So no other lease may have this name. The creation of any lease also counts, so these clients must create no other lease.
func Wrap(config *rest.Config, lease string, duration time.Duration) *rest.Config {
	f := &fence{lease: lease, duration: duration, clock: clock.RealClock{}}
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(f.around)
	return wrapped
}

type fence struct {
	lease    string
	duration time.Duration
	clock    clock.PassiveClock

	mutex   sync.RWMutex
	renewed time.Time
}

func (f *fence) around(next http.RoundTripper) http.RoundTripper {
	return roundTripper{fence: f, next: next}
}

type roundTripper struct {
	fence *fence
	next  http.RoundTripper
}

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	writes := request.Method == http.MethodPut || request.Method == http.MethodPatch || request.Method == http.MethodDelete
	switch {
	case r.fence.concernsLease(request) && releases(request):
		// From now on, another process may be the leader, whatever the API server answers.
		r.fence.note(time.Time{})
		return r.next.RoundTrip(request)
	case r.fence.concernsLease(request):
		// The duration counts from the sending of the renewal. Other replicas see the renewal later, and count from then.
		sent := r.fence.clock.Now()
		response, err := r.next.RoundTrip(request)
		if err == nil && response.StatusCode/100 == 2 && request.Method != http.MethodGet {
			r.fence.note(sent)
		}
		return response, err
	case writes && !r.fence.held():
		return nil, r.fence.refuse(request)
	default:
		return r.next.RoundTrip(request)
	}
}

// refuse returns the error for a request that is not sent. It closes the request's body, as http.RoundTripper demands.
func (f *fence) refuse(request *http.Request) error {
	if request.Body != nil {
		_ = request.Body.Close() // nobody has read it
	}
	return fmt.Errorf("the lease %s was not renewed for %s: another replica may lead, so nothing is written", f.lease, f.duration)
}

// concernsLease reports whether a request reads or writes the lease, or creates any lease.
func (f *fence) concernsLease(request *http.Request) bool {
	const leases = "/leases"
	path := request.URL.Path
	return strings.HasSuffix(path, leases+"/"+f.lease) || request.Method == http.MethodPost && strings.HasSuffix(path, leases)
}

// releases reports whether a request releases the lease: an update without a holder. A request whose body cannot be read does not count.
func releases(request *http.Request) bool {
	if request.Method != http.MethodPut || request.GetBody == nil {
		return false
	}
	body, err := request.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	if err != nil {
		return false
	}
	object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(content, nil, nil)
	if err != nil {
		return false
	}
	lease, ok := object.(*coordinationv1.Lease)
	return ok && ptr.Deref(lease.Spec.HolderIdentity, "") == ""
}

func (f *fence) note(renewed time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.renewed = renewed
}

// held reports whether the last renewal is younger than the duration by both clocks: the monotonic clock stops while a machine
// sleeps, and the wall clock can be changed.
func (f *fence) held() bool {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	now := f.clock.Now()
	return !f.renewed.IsZero() && now.Sub(f.renewed) < f.duration && now.Round(0).Sub(f.renewed.Round(0)) < f.duration
}
