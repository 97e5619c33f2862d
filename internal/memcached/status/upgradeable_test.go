// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRollingOut takes each Memcached through Status, so that it is what the operator really tells.
func TestRollingOut(t *testing.T) {
	replaced := []func(*appsv1.Deployment){specGeneration(2), revision(2), counts(2, 3, 1, 2), progress("ReplicaSetUpdated")}
	tests := []struct {
		name       string
		mc         *cachev1alpha1.Memcached
		deployment []func(*appsv1.Deployment)
		outcome    Outcome
		want       bool
	}{
		{name: "nodes are replaced", mc: memcachedtest.Cache(3), deployment: replaced, want: true},
		{
			name: "the Deployment controller has not seen the new template", mc: memcachedtest.Cache(3), want: true,
			deployment: []func(*appsv1.Deployment){specGeneration(2), revision(1), counts(1, 3, 3, 3), progress(rolloutComplete)},
		},
		{
			name: "nodes are replaced while another object is refused", mc: memcachedtest.Cache(3), deployment: replaced, want: true,
			outcome: Outcome{Problem: &Problem{Reason: cachev1alpha1.ReasonConflict, Message: "in the way"}},
		},
		{
			name: "the rollout is stuck", mc: memcachedtest.Cache(3),
			deployment: []func(*appsv1.Deployment){specGeneration(2), revision(2), counts(2, 3, 1, 2), progress(rolloutOverdue)},
		},
		{name: "the user holds changes back", mc: memcachedtest.Cache(3, memcachedtest.Paused), deployment: replaced},
		{name: "the Memcached is being deleted", mc: memcachedtest.Cache(3, beingDeleted), deployment: replaced},
		{
			name: "an object of the same name must go first", mc: memcachedtest.Cache(3), deployment: replaced,
			outcome: Outcome{Waiting: "the Service is being deleted"},
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
			test.mc.Status = statusOf(test.mc, observed, test.outcome, time.Now())
			if got := RollingOut(test.mc); got != test.want {
				t.Errorf("got %t, want %t, of %+v", got, test.want, test.mc.Status.Conditions)
			}
		})
	}
	if RollingOut(memcachedtest.Cache(3)) {
		t.Error("a Memcached without a status is rolling out")
	}
}

func TestUpgradeable(t *testing.T) {
	rollout := func(name string, unchanged time.Duration, changes ...func(*cachev1alpha1.Memcached)) Rollout {
		mc := memcachedtest.Cache(3, changes...)
		mc.Name = name
		return Rollout{Memcached: mc, Unchanged: unchanged}
	}
	slow := func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 3600 }
	may := metav1.Condition{Status: "True", Reason: "NoRollout", Message: "No nodes are being replaced"}
	mayNot := func(message string) metav1.Condition {
		return metav1.Condition{Status: "False", Reason: "RollingOut", Message: message}
	}
	tests := []struct {
		name     string
		rollouts []Rollout
		want     metav1.Condition
	}{
		{name: "no rollout", want: may},
		{
			name: "one", rollouts: []Rollout{rollout("a", 0)},
			want: mayNot("Nodes of 1 Memcached resource are being replaced: shop/a"),
		},
		{
			name: "in any order", rollouts: []Rollout{rollout("c", 0), rollout("a", 0), rollout("b", 0)},
			want: mayNot("Nodes of 3 Memcached resources are being replaced: shop/a, shop/b, shop/c"),
		},
		{
			name: "more than are named", rollouts: []Rollout{rollout("e", 0), rollout("d", 0), rollout("c", 0), rollout("b", 0), rollout("a", 0)},
			want: mayNot("Nodes of 5 Memcached resources are being replaced: shop/a, shop/b, shop/c and 2 more"),
		},
		{
			name: "at the deadline of the Deployment and the grace", rollouts: []Rollout{rollout("a", 15*time.Minute)},
			want: mayNot("Nodes of 1 Memcached resource are being replaced: shop/a"),
		},
		{name: "past it", rollouts: []Rollout{rollout("a", 15*time.Minute+1)}, want: may},
		{
			name: "of which one is past it", rollouts: []Rollout{rollout("a", time.Hour), rollout("b", time.Minute)},
			want: mayNot("Nodes of 1 Memcached resource are being replaced: shop/b"),
		},
		{
			name: "with nodes that must be ready for an hour", rollouts: []Rollout{rollout("a", 75*time.Minute, slow)},
			want: mayNot("Nodes of 1 Memcached resource are being replaced: shop/a"),
		},
		{name: "longer than that", rollouts: []Rollout{rollout("a", 75*time.Minute+1, slow)}, want: may},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Upgradeable(test.rollouts)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUpgradeableIsShortForManyRollouts(t *testing.T) {
	var rollouts []Rollout
	for i := range 10_000 {
		mc := memcachedtest.Cache(3)
		mc.Namespace, mc.Name = strings.Repeat("n", 63), fmt.Sprintf("%s-%d", strings.Repeat("m", 57), i)
		rollouts = append(rollouts, Rollout{Memcached: mc})
	}
	if got := Upgradeable(rollouts).Message; len(got) > 500 || !strings.HasSuffix(got, " and 9997 more") {
		t.Errorf("got %d bytes: %.600s", len(got), got)
	}
}
