// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRollingOut computes each status with statusOf, so that it tests only statuses that the operator can write.
func TestRollingOut(t *testing.T) {
	replaced := []func(*appsv1.Deployment){specGeneration(2), revision(2), counts(2, 3, 1, 2), progress("ReplicaSetUpdated")}
	tests := []struct {
		name       string
		mc         *cachev1alpha1.Memcached
		deployment []func(*appsv1.Deployment)
		written    memcached.Written
		want       bool
	}{
		{name: "nodes are replaced", mc: memcachedtest.Cache(3), deployment: replaced, want: true},
		{
			name: "the Deployment controller has not seen the new template", mc: memcachedtest.Cache(3), want: true,
			deployment: []func(*appsv1.Deployment){specGeneration(2), revision(1), counts(1, 3, 3, 3), progress(rolloutComplete)},
		},
		{
			name: "nodes are replaced while another object is refused", mc: memcachedtest.Cache(3), deployment: replaced, want: true,
			written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "in the way"}},
		},
		{
			name: "the rollout is stuck", mc: memcachedtest.Cache(3),
			deployment: []func(*appsv1.Deployment){specGeneration(2), revision(2), counts(2, 3, 1, 2), progress(rolloutOverdue)},
		},
		{name: "the user holds changes back", mc: memcachedtest.Cache(3, memcachedtest.Paused), deployment: replaced},
		{name: "the Memcached is being deleted", mc: memcachedtest.Cache(3, beingDeleted), deployment: replaced},
		{
			name: "an object of the same name must go first", mc: memcachedtest.Cache(3), deployment: replaced,
			written: memcached.Written{Waiting: "the Service is being deleted"},
		},
		{
			name: "the nodes are started for the first time", mc: memcachedtest.Cache(3),
			deployment: []func(*appsv1.Deployment){revision(1), counts(1, 3, 3, 1), progress("NewReplicaSetCreated")},
		},
		{
			name: "nodes are added", mc: memcachedtest.Cache(3),
			deployment: []func(*appsv1.Deployment){revision(1), counts(1, 2, 2, 2), progress(rolloutComplete)},
		},
		{
			name: "nothing is under way", mc: memcachedtest.Cache(3),
			deployment: []func(*appsv1.Deployment){revision(1), counts(1, 3, 3, 3), progress(rolloutComplete)},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			observed := memcached.Observed{Children: memcachedtest.Children(makeDeployment(t, test.mc, test.deployment...))}
			test.mc.Status = statusOf(test.mc, observed, test.written, time.Now())
			if got := RollingOut(test.mc); got != test.want {
				t.Errorf("got %t, want %t, of %+v", got, test.want, test.mc.Status.Conditions)
			}
		})
	}
	if RollingOut(memcachedtest.Cache(3)) {
		t.Error("a Memcached without a status is rolling out")
	}
}
