// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
)

const (
	name      = "operator.example.com"
	leases    = "/apis/coordination.k8s.io/v1/namespaces/operators/leases"
	lease     = leases + "/" + name
	duration  = 15 * time.Second
	children  = "/apis/apps/v1/namespaces/shop/deployments/cache"
	refusedIs = "the lease operator.example.com was not renewed for 15s: another replica may lead, so nothing is written"
)

// step is a request, the time that passes before it, and its expected result.
type step struct {
	after        time.Duration
	method, path string
	body         string
	// status is the HTTP status of the API server's answer.
	status int
	// refused reports that the request must not reach the API server.
	refused bool
}

func TestFence(t *testing.T) {
	renew := step{method: http.MethodPut, path: lease, status: http.StatusOK}
	write := step{method: http.MethodPatch, path: children, status: http.StatusOK}
	refused := step{method: http.MethodPatch, path: children, refused: true}
	after := func(s step, d time.Duration) step { s.after = d; return s }
	of := func(s step, method string) step { s.method = method; return s }
	with := func(s step, body string) step { s.body = body; return s }
	release := with(renew, encode(t, "", jsonType))
	lost := step{method: http.MethodPut, path: lease, body: release.body, status: http.StatusInternalServerError}
	for title, steps := range map[string][]step{
		"nobody writes without a lease":                  {refused, of(refused, http.MethodPut), of(refused, http.MethodDelete)},
		"everybody may read":                             {{method: http.MethodGet, path: children, status: http.StatusOK}},
		"everybody may report events and ask for access": {{method: http.MethodPost, path: "/apis/events.k8s.io/v1/namespaces/shop/events", status: http.StatusCreated}},
		"who renewed the lease writes":                   {renew, write, of(write, http.MethodPut), of(write, http.MethodDelete)},
		"who created the lease writes":                   {{method: http.MethodPost, path: leases, status: http.StatusCreated}, write},
		"a lease holds for its duration":                 {renew, after(write, duration-1), after(refused, 1)},
		"each renewal holds it for as long":              {renew, after(renew, duration-1), after(write, duration-1), after(refused, 1)},
		"reading the lease is no renewal":                {{method: http.MethodGet, path: lease, status: http.StatusOK}, refused},
		"a renewal that was refused is none":             {{method: http.MethodPut, path: lease, status: http.StatusConflict}, refused},
		"another's lease is none of ours":                {{method: http.MethodPut, path: leases + "/other", refused: true}, refused},
		"one who was paused writes when the lease is his": {
			renew, after(refused, time.Minute), renew, write,
		},
		"who holds the lease writes":                        {with(renew, encode(t, "operator-1", jsonType)), write},
		"who holds the lease writes, whatever its encoding": {with(renew, encode(t, "operator-1", protobufType)), write},
		"who gave the lease back does not write":            {renew, release, refused},
		"whatever the encoding of the lease":                {renew, with(renew, encode(t, "", protobufType)), refused},
		// The API server answers with an error, but may have released the lease.
		"who tried to give the lease back does not write": {renew, lost, refused},
		"what cannot be read is a renewal":                {with(renew, "?"), write},
		"who gave the lease back and got it again writes": {renew, release, renew, write},
	} {
		t.Run(title, func(t *testing.T) { play(t, steps) })
	}
}

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// encode returns the body of client-go's request for a lease with this holder. In a release, the holder is empty.
func encode(t *testing.T, holder, mediaType string) string {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(clientgoscheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("client-go does not send %s", mediaType)
	}
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	body, err := runtime.Encode(clientgoscheme.Codecs.EncoderForVersion(info.Serializer, coordinationv1.SchemeGroupVersion), lease)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func play(t *testing.T, steps []step) {
	t.Helper()
	clock := testclock.NewFakePassiveClock(time.Now())
	var current step
	received := 0
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received++
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(current.status)
	}))
	defer server.Close()
	f := &fence{lease: name, duration: duration, clock: clock}
	client := &http.Client{Transport: f.around(http.DefaultTransport)}
	for i, s := range steps {
		current, received = s, 0
		clock.SetTime(clock.Now().Add(s.after))
		request, err := http.NewRequestWithContext(t.Context(), s.method, server.URL+s.path, strings.NewReader(s.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		switch {
		case string(body) != s.body && !s.refused:
			t.Errorf("step %d: the API server received the body %q, not %q", i, body, s.body)
		case s.refused && (err == nil || !strings.Contains(err.Error(), refusedIs) || received != 0):
			t.Errorf("step %d: %s %s must be refused, but was received %d times with the error %v", i, s.method, s.path, received, err)
		case !s.refused && (err != nil || received != 1):
			t.Errorf("step %d: %s %s must be sent once, but was received %d times: %v", i, s.method, s.path, received, err)
		}
	}
}

type closed struct{ io.Reader }

func (c *closed) Close() error { c.Reader = nil; return nil }

// TestRefusedBody checks that the body of a refused request is closed, which http.RoundTripper demands.
func TestRefusedBody(t *testing.T) {
	body := &closed{strings.NewReader("{}")}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://localhost"+children, body)
	if err != nil {
		t.Fatal(err)
	}
	f := &fence{lease: name, duration: duration, clock: testclock.NewFakePassiveClock(time.Now())}
	response, err := f.around(http.DefaultTransport).RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
		t.Fatal("written without a lease")
	}
	if body.Reader != nil {
		t.Error("the body is open")
	}
}

// TestWallClock lets an hour pass on the wall clock only, as while a machine sleeps.
func TestWallClock(t *testing.T) {
	now := time.Now()
	f := &fence{lease: name, duration: duration, clock: testclock.NewFakePassiveClock(now.Round(0).Add(time.Hour))}
	f.note(now)
	if f.held() {
		t.Error("the lease was held for an hour of sleep")
	}
}

// TestWrap uses a new client of the same configuration for each request: the manager, too, renews the lease with one client and
// writes with another.
func TestWrap(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	original := &rest.Config{Host: server.URL}
	config := Wrap(original, name, duration)
	if original.WrapTransport != nil {
		t.Error("the original configuration was changed")
	}
	send := func(method, path string) error {
		client, err := rest.HTTPClientFor(rest.CopyConfig(config))
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	if send(http.MethodPatch, children) == nil {
		t.Error("written without a lease")
	}
	if err := send(http.MethodPut, lease); err != nil {
		t.Fatal(err)
	}
	if err := send(http.MethodPatch, children); err != nil {
		t.Error(err)
	}
}

// TestRelease renews and releases the lease with the kind of client that leader election uses.
func TestRelease(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	clients, err := kubernetes.NewForConfig(Wrap(&rest.Config{Host: server.URL}, name, duration))
	if err != nil {
		t.Fatal(err)
	}
	update := func(holder string) {
		t.Helper()
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
		if _, err := clients.CoordinationV1().Leases("operators").Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write := func() error {
		return clients.PolicyV1().PodDisruptionBudgets("shop").Delete(t.Context(), "cache", metav1.DeleteOptions{})
	}
	update("operator-1")
	if err := write(); err != nil {
		t.Error(err)
	}
	update("")
	if err := write(); err == nil || !strings.Contains(err.Error(), refusedIs) {
		t.Errorf("written without the lease: %v", err)
	}
}
