// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// lists counts lists.
type lists struct {
	client.Reader

	count int
	err   error
}

func (l *lists) List(context.Context, client.ObjectList, ...client.ListOption) error {
	l.count++
	return l.err
}

// TestAFailureToReadEvents checks that the status keeps a refusal while the events cannot be read.
func TestAFailureToReadEvents(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{
		Live: &lists{err: errors.New("timeout")}, Clock: clock,
		refusals: rate.NewLimiter(refusalReads, refusalReads),
	}
	view := memcached.View{Memcached: &cachev1alpha1.Memcached{}, Workload: memcached.AsWorkload(&appsv1.StatefulSet{})}
	r.states.update(client.ObjectKeyFromObject(view.Memcached), func(s *instanceState) { s.refusal, s.refusalReadAt = "quota", clock.Now() })
	for _, want := range []string{"quota", "quota", ""} {
		if got := r.refusal(t.Context(), view, view.Workload); got != want {
			t.Errorf("%s: %q, not %q", clock.Now(), got, want)
		}
		clock.SetTime(clock.Now().Add(refusalLasts/2 + time.Second))
	}
}

// TestManyStatefulSetsWithoutPods starts a thousand StatefulSets at once, whose controller needs minutes to create all pods.
func TestManyStatefulSetsWithoutPods(t *testing.T) {
	clock, reader := clocktesting.NewFakePassiveClock(time.Now()), &lists{}
	r := &Reconciler{
		Live: reader, Clock: clock,
		refusals: rate.NewLimiter(refusalReads, refusalReads),
	}
	for range 60 {
		for i := range 1000 {
			view := memcached.View{Memcached: &cachev1alpha1.Memcached{}, Workload: memcached.AsWorkload(&appsv1.StatefulSet{})}
			view.Memcached.Name = fmt.Sprint(i)
			r.refusal(t.Context(), view, view.Workload)
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	if reads := reader.count / 2; reads > 60*refusalReads || reads < 59*refusalReads { // of events and of a pod
		t.Errorf("in a minute, the events were read %d times", reads)
	}
}
