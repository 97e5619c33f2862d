// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

func TestWhoSeesTheEffectOfAWriteFindsItRecorded(t *testing.T) {
	var requests testenv.Requests
	found := make(chan []string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		go func() { found <- requests.Writes() }()
		// The server delays its response by up to 20 ms. requests.Writes must not return before the response.
		for i := 0; i < 20 && len(found) == 0; i++ {
			time.Sleep(time.Millisecond)
		}
	}))
	defer server.Close()
	client, err := rest.HTTPClientFor(requests.Record(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	write, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/namespaces/default/services", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(write)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create services"}, <-found); diff != "" {
		t.Error(diff)
	}
}

// Refused must return every refused request, also those that Lists leaves out, such as requests for events.
func TestRefusalsOfAnyRequestAreTold(t *testing.T) {
	var requests testenv.Requests
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	client, err := rest.HTTPClientFor(requests.Record(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/namespaces/default/services", "/api/v1/namespaces/default/events", "/version"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"get /version (403)", "list events (403)", "list services (403)"}, requests.Refused()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"list services (403)"}, requests.Lists()); diff != "" {
		t.Error(diff)
	}
}
