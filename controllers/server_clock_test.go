// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/example/memcached-operator/controllers"
)

func TestServerClock(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	local := clocktesting.NewFakePassiveClock(noon.Add(10 * time.Minute)) // ahead of the API server's clock
	date := noon.Format(http.TimeFormat)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", date)
	}))
	t.Cleanup(server.Close)
	serverClock, config := controllers.NewServerClock(&rest.Config{Host: server.URL}, local)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, want time.Time) {
		t.Helper()
		if got := serverClock.Now(); !got.Equal(want) {
			t.Errorf("%s it is %s, want %s", when, got, want)
		}
	}
	ask := func() {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := httpClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	expect("before the first answer", noon.Add(10*time.Minute))
	ask()
	expect("after it", noon)
	local.SetTime(local.Now().Add(time.Minute))
	expect("a minute later", noon.Add(time.Minute))
	date = noon.Add(2 * time.Minute).Format(http.TimeFormat)
	ask()
	expect("after the second answer", noon.Add(2*time.Minute))
	date = "nonsense"
	ask()
	expect("after an answer without a time", noon.Add(2*time.Minute))
}
