// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// gatekeeper reconciles a request when it is let through.
type gatekeeper struct {
	began chan reconcile.Request
	gate  chan error
}

// Reconcile implements reconcile.Reconciler.
func (g *gatekeeper) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	g.began <- request
	select {
	case err := <-g.gate:
		return reconcile.Result{}, err
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
}

func requestOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

type answerOf struct {
	result reconcile.Result
	err    error
}

// workersUnderTest has two places and room for four that are slow.
func workersUnderTest(t *testing.T) (*workers, *gatekeeper, *clocktesting.FakeClock, func(name string) chan answerOf) {
	clock := clocktesting.NewFakeClock(time.Now())
	keeper := &gatekeeper{began: make(chan reconcile.Request), gate: make(chan error)}
	w := newWorkers(keeper, clock, 2)
	return w, keeper, clock, func(name string) chan answerOf {
		done := make(chan answerOf, 1)
		go func() {
			result, err := w.Reconcile(t.Context(), requestOf(name))
			done <- answerOf{result, err}
		}()
		return done
	}
}

func TestThoseThatWaitForAWebhookDelayNobody(t *testing.T) {
	_, keeper, clock, reconcile := workersUnderTest(t)
	hanging := []chan answerOf{reconcile("hangs-1"), reconcile("hangs-2")}
	<-keeper.began
	<-keeper.began
	healthy := reconcile("healthy")
	select {
	case request := <-keeper.began:
		t.Fatalf("%s has a place although there is none", request.Name)
	case <-healthy:
		t.Fatal("it was not reconciled")
	default:
	}
	clock.Step(slowAfter)
	if request := <-keeper.began; request.Name != "healthy" {
		t.Fatalf("%s has the place", request.Name)
	}
	for range 3 {
		keeper.gate <- nil
	}
	<-healthy
	for _, done := range hanging {
		<-done
	}
}

func TestThoseThatWereSlowHaveTheirOwnPlaces(t *testing.T) {
	w, keeper, clock, reconcile := workersUnderTest(t)
	for _, name := range []string{"slow-1", "slow-2", "slow-3", "slow-4", "slow-5"} {
		done := reconcile(name)
		<-keeper.began
		clock.Step(slowAfter)
		keeper.gate <- errors.New("the webhook has not answered")
		if answer := <-done; answer.result.Priority == nil || *answer.result.Priority >= 0 || answer.err == nil {
			t.Errorf("what failed comes back as %+v", answer)
		}
	}
	var slow []chan answerOf
	for _, name := range []string{"slow-1", "slow-2", "slow-3", "slow-4"} {
		slow = append(slow, reconcile(name))
		<-keeper.began
	}
	if answer := <-reconcile("slow-5"); answer.err != nil || answer.result.RequeueAfter != slowRetry || *answer.result.Priority >= 0 {
		t.Errorf("one for which there is no room comes back as %+v", answer)
	}
	healthy := reconcile("healthy")
	if request := <-keeper.began; request.Name != "healthy" {
		t.Fatalf("%s has a place", request.Name)
	}
	for range 5 {
		keeper.gate <- nil
	}
	for _, done := range append(slow, healthy) {
		<-done
	}

	// Whoever was quick is not slow any more.
	if _, remembered := w.wasSlow.Load(requestOf("slow-1")); remembered {
		t.Error("slow-1 was quick, and is still taken for slow")
	}
}

func TestAPlaceIsWaitedForNoLongerThanTheReconciliationMayTake(t *testing.T) {
	w, keeper, _, reconcile := workersUnderTest(t)
	reconcile("first")
	reconcile("second")
	<-keeper.began
	<-keeper.began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Reconcile(ctx, requestOf("third")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
