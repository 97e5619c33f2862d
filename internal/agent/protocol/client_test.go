// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAsk(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		want   string
		err    string
	}{
		"an answer": {handle: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"list":{"target":"aa"},"new":1}`) }, want: "aa"},
		"a redirect": {handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}, err: "302 Found"},
		"another server": {handle: http.NotFound, err: "404 Not Found"},
		"garbage":        {handle: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, err: "not the answer of a node"},
		"too much": {handle: func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"list":{"target":"%s"}}`, strings.Repeat("x", maxAnswer))
		}, err: "unexpected EOF"},
		"a long header": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 2*maxAnswer))
		}, err: "headers exceeded"},
		"no answer": {handle: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, err: "Client.Timeout exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handle)
			defer server.Close()
			status, err := NewClient().Ask(t.Context(), server.URL)
			if diff := cmp.Diff(Status{List: List{Target: test.want}}, status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), server.URL)) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}

// TestResetByPeer checks that a node that resets connections, as a service mesh does, causes the same error each time.
func TestResetByPeer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil || conn.(*net.TCPConn).SetLinger(0) != nil || conn.Close() != nil {
			t.Error("the connection was not reset")
		}
	}))
	defer server.Close()
	for range 2 {
		_, err := NewClient().Ask(t.Context(), server.URL)
		if want := fmt.Sprintf("Get %q: read tcp %s: read: connection reset by peer", server.URL+StatusPath, server.Listener.Addr()); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"problems":[{"reason":"CertificateNames","message":%q}]}`, r.URL.String())
	}))
	defer server.Close()
	status, err := NewClient().Ask(t.Context(), server.URL, "a", "b")
	want := Status{Problems: []Problem{{Reason: "CertificateNames", Message: "/status?host=a&host=b"}}}
	if diff := cmp.Diff(want, status); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNoProxy(t *testing.T) {
	transport, ok := NewClient().http.Transport.(*http.Transport)
	if !ok || transport.Proxy != nil {
		t.Error("the client uses a proxy of the environment")
	}
}
