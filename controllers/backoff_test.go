// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestBackoff checks that the operator notices within a minute that a failure is over.
func TestBackoff(t *testing.T) {
	limiter, request := RateLimiter(), reconcile.Request{}
	if first := limiter.When(request); first > 10*time.Millisecond {
		t.Errorf("the first retry comes after %s", first)
	}
	var last time.Duration
	for range 100 {
		last = limiter.When(request)
	}
	if last < 30*time.Second || last > 50*time.Second {
		t.Errorf("after many failures a retry comes after %s", last)
	}
}
