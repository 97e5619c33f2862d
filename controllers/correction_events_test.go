// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// TestAFightFloodsNobodyWithEvents deletes a Service as often as the operator creates it again.
func TestAFightFloodsNobodyWithEvents(t *testing.T) {
	clock, recorder := clocktesting.NewFakePassiveClock(time.Now()), events.NewFakeRecorder(1000)
	r := &Reconciler{Recorder: recorder, Clock: clock}
	view := memcached.View{Memcached: &cachev1alpha1.Memcached{}}
	view.Memcached.Status.ServiceName = "cache"
	fight := func() int {
		for range 100 {
			r.emitCorrections(view, apply.Result{Created: []string{"Service cache-nodes"}})
		}
		sent := len(recorder.Events)
		for range sent {
			<-recorder.Events
		}
		return sent
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, correctionEvents}, {correctionInterval - time.Second, 0}, {time.Second, 1}} {
		clock.SetTime(clock.Now().Add(step.after))
		if got := fight(); got != step.want {
			t.Errorf("after %s, %d events, want %d", step.after, got, step.want)
		}
	}
}
