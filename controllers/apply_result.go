// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// recheckInterval is when the operator looks again without an event: at an object in the way that it does not watch, and at a
// creation that the cache should have received by then.
const recheckInterval = apply.CreationGrace

// applyResult is what became of the children of a Memcached.
type applyResult struct {
	status.Outcome

	// objects are the live objects.
	objects []client.Object
	// created reports that an object was created, written that one was created, changed or deleted.
	created, written bool
	// err is what Reconcile returns: nil unless another try, or another spec, may help.
	err error
	// transient reports that the API server did not decide about some of the objects, so that soon more will be known.
	transient bool
	// retryAfter is when to look again at what no watch reports, 0 for never.
	retryAfter time.Duration
}

// reason is the outcome in one word, for the metric.
func (a *applyResult) reason() string {
	switch {
	case a.transient:
		return "Retried"
	case a.Problem != nil:
		return a.Problem.Reason
	case a.written:
		return "Applied"
	default:
		return "Unchanged"
	}
}

// join adds what became of something else, whose errors are worth another try.
func (a *applyResult) join(other applyResult) {
	if other.Problem != nil {
		a.add(*other.Problem)
	}
	if errors.Is(a.err, reconcile.TerminalError(nil)) {
		a.err = nil // it is in the problem, and beside it the other one would not be retried
	}
	a.err = errors.Join(a.err, other.err)
	a.transient = a.transient || other.transient
	a.retryAfter = sooner(a.retryAfter, other.retryAfter)
}

// requeue is what Reconcile returns. An error is tried again, unless another spec is needed, and what else is waited for wakes the
// controller, but for objects that are not watched, for creations that a watch has missed, for the end of a contest, and for that
// of a grace period.
func (a *applyResult) requeue(pendingCreate bool) (reconcile.Result, error) {
	wait := a.retryAfter
	if pendingCreate || a.created || a.Waiting != "" {
		wait = sooner(wait, recheckInterval)
	}
	if wait > 0 && (a.err == nil || errors.Is(a.err, reconcile.TerminalError(nil))) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{}, a.err
}

// sooner is the shorter one of two times to wait, of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
