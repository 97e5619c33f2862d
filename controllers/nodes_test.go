// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestNodesOutsideTheCluster asks a launcher and an agent through the API server, as "make run" does.
func TestNodesOutsideTheCluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces/shop/pods/cache-0:9150/proxy/status":
			fmt.Fprintf(w, `{"problems":[{"reason":"CertificateNames","message":%q}]}`, r.URL.RawQuery)
		case "/api/v1/namespaces/shop/pods/cache-1:9150/proxy/status":
			fmt.Fprintf(w, `{"problems":[{"message":%q}]}`, strings.Repeat("x", 4<<10))
		case "/api/v1/namespaces/shop/pods/cache-0:9151/proxy/status":
			fmt.Fprint(w, `{"hash":"aa","secondsInEffect":5}`)
		case "/api/v1/namespaces/shop/pods/cache-1:9151/proxy/status":
			fmt.Fprint(w, "hello")
		default:
			http.Error(w, "pods is forbidden", http.StatusForbidden)
		}
	}))
	defer server.Close()
	nodes, err := NewNodes(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cache-0": "aa", "cache-1": "", "cache-2": ""} {
		status, err := nodes.Launcher(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
		if status.Hash != want || (err == nil) != (want != "") {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
	}
	for name, want := range map[string]string{"cache-0": "host=a&host=b", "cache-1": "", "cache-2": ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		status, err := nodes.Agent(t.Context(), pod, []string{"a", "b"})
		if (err == nil) != (want != "") || err == nil && status.Problems[0].Message != want {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
	}
}
