// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// RecheckInterval is how long to wait before checking without an event: an object in the way that is not watched, or a creation
// that the cache should have received by then.
const RecheckInterval = apply.CreationGrace

// resultOf is what became of a plan in one word, for the metric.
func resultOf(written memcached.Written) string {
	switch {
	case written.Transient:
		return "Retried"
	case written.Problem != nil:
		return written.Problem.Reason
	case written.Changed:
		return "Applied"
	default:
		return "Unchanged"
	}
}

// join adds the outcome of another write, whose errors are retried.
func join(written *memcached.Written, other memcached.Written) {
	written.Problem = written.Problem.And(other.Problem)
	if errors.Is(written.Err, reconcile.TerminalError(nil)) {
		written.Err = nil // it is in the problem, and beside it the other one would not be retried
	}
	written.Err = errors.Join(written.Err, other.Err)
	written.Transient = written.Transient || other.Transient
	written.RetryAfter = Sooner(written.RetryAfter, other.RetryAfter)
}

// requeue returns the result of Reconcile. Errors are retried, unless only a new spec can help. Watches report most of what else is
// awaited. It requeues for what they do not report: unwatched objects, creations that a watch missed, the end of a contest, and the
// end of a grace period.
func requeue(
	view memcached.View, plan memcached.Plan, written memcached.Written, current cachev1alpha1.MemcachedStatus,
) (reconcile.Result, error) {
	return Requeue(Sooner(status.RequeueAfter(view, current), nextStep(view, plan)), view.PendingCreate, written)
}

// Requeue returns the result of Reconcile: when to reconcile again without an event, 0 for never, or the error to retry.
func Requeue(wait time.Duration, pendingCreate bool, written memcached.Written) (reconcile.Result, error) {
	wait = Sooner(written.RetryAfter, wait)
	if pendingCreate || written.Created || written.Waiting != "" {
		wait = Sooner(wait, RecheckInterval)
	}
	if wait > 0 && (written.Err == nil || errors.Is(written.Err, reconcile.TerminalError(nil))) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{}, written.Err
}

// stepInterval is the pause between steps of a wave: no watch reports what launchers and twins do. blockedInterval is the pause if somebody
// may have to help.
const (
	stepInterval    = 2 * time.Second
	blockedInterval = 15 * time.Second
)

// nextStep is when to take the next step of a wave, or of pods that change in place, 0 for never.
func nextStep(view memcached.View, plan memcached.Plan) time.Duration {
	open := plan.Wave.Open || plan.InPlace.Open
	switch {
	case view.Memcached.Spec.Paused || view.Memcached.DeletionTimestamp != nil:
		return 0
	case plan.Twins.Waits != "" && plan.Problem == nil:
		return stepInterval
	case open && !blocked(plan):
		return stepInterval
	case open || plan.Twins.Asking:
		return blockedInterval
	default:
		return 0
	}
}

// blocked reports whether the next step may need somebody's help.
func blocked(plan memcached.Plan) bool {
	return plan.Problem != nil || plan.Wave.Blocked != "" || plan.InPlace.Blocked != "" || plan.InPlace.Problem != nil
}

// Sooner is the shorter one of two times to wait, of which 0 means never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
