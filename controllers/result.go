// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
	"github.com/example/memcached-operator/internal/rollout"
)

// RecheckInterval is how long the operator waits before it reconciles without an event, for example to find out whether a name has
// become free, or whether a created object still exists.
const RecheckInterval = 30 * time.Second

// conflictInterval is the time between two checks whether another owner's object is still in the way.
const conflictInterval = 10 * time.Second

// anewInterval is how long a reconcile waits before it starts again, when something has changed since it was read. Usually, an event comes
// first.
const anewInterval = time.Second

// Retry returns the result of a reconcile that failed.
func Retry(err error) (reconcile.Result, error) {
	if beginsAnew(err) {
		return reconcile.Result{RequeueAfter: anewInterval}, nil
	}
	return reconcile.Result{}, err
}

// resultOf returns the label value of a reconciliation for the metric memcached_operator_reconciles_total.
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

// join adds the result of another write to written. It drops a terminal error, so that an error of the other write is retried.
func join(written *memcached.Written, other memcached.Written) {
	written.Problem = written.Problem.And(other.Problem)
	if errors.Is(written.Err, reconcile.TerminalError(nil)) {
		written.Err = nil // written.Problem has the same message, and a terminal error would prevent the retry
	}
	written.Err = errors.Join(written.Err, other.Err)
	written.Transient = written.Transient || other.Transient
	written.RetryAfter = memcached.Sooner(written.RetryAfter, other.RetryAfter)
}

// requeue returns the result of Reconcile. An error is retried, unless only a new spec can help. If there is no retry, the result schedules
// the next reconcile for what no watch reports, such as the next step of a change, or the end of a grace period.
func requeue(
	view memcached.View, plan memcached.Plan, written memcached.Written, current cachev1alpha1.MemcachedStatus,
) (reconcile.Result, error) {
	wait := memcached.Sooner(written.RetryAfter, status.RequeueAfter(view, current))
	if written.Kept == "" { // a refused eviction is tried again after RetryAfter
		wait = memcached.Sooner(wait, nextStep(view, plan, progress(current.Conditions)))
	}
	if written.Created || written.Waiting != "" {
		wait = memcached.Sooner(wait, RecheckInterval)
	}
	if wait > 0 && (written.Err == nil || errors.Is(written.Err, reconcile.TerminalError(nil))) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{}, written.Err
}

// Intervals between the steps of a change of pods. No watch reports what the parents of nodes do. So the operator asks them every
// stepInterval, or every blockedInterval while a person may have to act or nodes may lack items.
const (
	stepInterval    = 2 * time.Second
	blockedInterval = 15 * time.Second
)

// nextStep returns how long to wait before the reconcile that continues a rollout or asks whether nodes have filled. It returns 0 if no
// such reconcile is needed. The reason is that of the condition Progressing.
func nextStep(view memcached.View, plan memcached.Plan, reason string) time.Duration {
	rolls := plan.Rollout.Outdated > 0
	blocked := reason == cachev1alpha1.ReasonStuck || plan.Problem != nil || plan.Refused != nil ||
		plan.Rollout.Words != "" && plan.Rollout.Waits != rollout.WaitPeers
	switch {
	case view.Memcached.Spec.Paused || view.Memcached.DeletionTimestamp != nil:
		return 0
	case rolls && !blocked:
		return stepInterval
	case rolls || plan.Fills.Open:
		return blockedInterval
	default:
		return 0
	}
}
