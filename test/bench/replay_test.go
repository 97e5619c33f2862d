// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestCreations finds the three children of one Memcached among other requests.
func TestCreations(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	name := types.NamespacedName{Namespace: "caches-000", Name: "a"}
	sent := func(user, resource string, code, ms int) request {
		return request{
			user: user, verb: "patch", resource: resource, object: name, code: code,
			received: began.Add(time.Duration(ms) * time.Millisecond),
		}
	}
	requests := []request{
		sent("admin", "memcacheds", http.StatusCreated, 1),
		sent("operator", "leases", http.StatusCreated, 2),
		sent("operator", "deployments", http.StatusCreated, 7), // logged before requests that came earlier
		sent("operator", "services", http.StatusCreated, 3),
		sent("operator", "poddisruptionbudgets", http.StatusCreated, 5),
		sent("operator", "services", http.StatusConflict, 6),
		sent("operator", "deployments", http.StatusOK, 9), // an update
		sent("operator", "events", http.StatusCreated, 10),
		sent("operator", "memcacheds/status", http.StatusOK, 11),
	}
	got, err := creationsIn(requests, "operator", began, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []creation{
		{child{"services", name}, 3 * time.Millisecond},
		{child{"poddisruptionbudgets", name}, 5 * time.Millisecond},
		{child{"deployments", name}, 7 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(creation{}, child{})); diff != "" {
		t.Errorf("creations (-want +got):\n%s", diff)
	}
	if _, err := creationsIn(requests, "operator", began, 2); err == nil || !strings.Contains(err.Error(), "2 Memcacheds") {
		t.Errorf("with a missing child: got the error %v", err)
	}
}

// TestReplay creates the children of two Memcacheds at recorded times. Their recorded order differs from that of childrenOf.
func TestReplay(t *testing.T) {
	t.Chdir("../..")
	sets, err := childrenOf(2)
	if err != nil {
		t.Fatal(err)
	}
	zero, one := client.ObjectKeyFromObject(memcachedNumber(0)), client.ObjectKeyFromObject(memcachedNumber(1))
	creations := []creation{
		{child{"services", zero}, 0},
		{child{"deployments", one}, 2 * time.Millisecond},
		{child{"poddisruptionbudgets", zero}, 3 * time.Millisecond},
		{child{"services", one}, 4 * time.Millisecond},
		{child{"deployments", zero}, time.Second},
		{child{"poddisruptionbudgets", one}, time.Minute},
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mutex sync.Mutex
		var created []creation
		funcs := interceptor.Funcs{
			Create: func(_ context.Context, k8s client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				kind, err := k8s.GroupVersionKindFor(object)
				mutex.Lock()
				defer mutex.Unlock()
				plural := strings.ToLower(kind.Kind) + "s"
				created = append(created, creation{child{plural, client.ObjectKeyFromObject(object)}, time.Since(began)})
				return err
			},
		}
		bed := &testbed{k8s: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(funcs).Build()}
		if err := bed.replay(t.Context(), sets, creations); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(creations, created, cmp.AllowUnexported(creation{}, child{})); diff != "" {
			t.Errorf("creations (-recorded +replayed):\n%s", diff)
		}
		if err := bed.replay(t.Context(), sets[:1], creations); err == nil || !strings.Contains(err.Error(), "no child") {
			t.Errorf("with an unknown child: got the error %v", err)
		}
	})
}

func TestEndToEndVerdictUsesTheReplay(t *testing.T) {
	b := &bench{burst: burst{operator: 88 * time.Second, replayed: 80 * time.Second, atOnce: 44 * time.Second}}
	b.addEndToEnd(1000)
	times := slices.DeleteFunc(b.report.Results, func(one *result) bool { return one.Unit != "times" })
	want := map[string]verdict{
		"1000 resources until the last is Ready, ratio 1.10":                                 holds,
		"1000 resources until the last is Ready, ratio to those created at once (aim 1.4) 2": informative,
	}
	if diff := cmp.Diff(want, verdicts(times)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}
