// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestReactions(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	patch := func(user, resource, name string, received int) request {
		return request{
			user: user, verb: "patch", resource: resource, code: http.StatusOK,
			object: types.NamespacedName{Name: name}, received: at(received), answered: at(received + 2),
		}
	}
	refused := patch("operator", "deployments", "c", 60)
	refused.code = http.StatusConflict
	requests := []request{
		patch("admin", "memcacheds", "a", -50), // changed before notBefore
		patch("admin", "memcacheds", "b", 10),
		patch("other", "deployments", "b", 15),
		patch("operator", "memcacheds/status", "b", 16),
		patch("operator", "deployments", "b", 18),
		patch("operator", "deployments", "b", 30), // another patch after the same change
		patch("operator", "deployments", "a", 98),
		patch("operator", "deployments", "d", 120), // logged before the change
		patch("admin", "memcacheds", "d", 118),
		patch("admin", "memcacheds", "c", 50),
		refused,
	}
	reactions, unanswered := reactionsIn(requests, "operator", began)
	want := []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 4 * time.Millisecond}
	if diff := cmp.Diff(want, reactions); diff != "" || unanswered != 1 {
		t.Errorf("unanswered is %d, want 1; reactions (-want +got):\n%s", unanswered, diff)
	}
}
