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
		// As long as the answer is on its way.
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
