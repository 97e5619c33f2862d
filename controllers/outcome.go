// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// lookAgain is when the operator looks again without having been woken: at an object in the way that it does not watch,
// and at a creation that the cache should have confirmed by then.
const lookAgain = 30 * time.Second

// done is what became of the objects of a Memcached.
type done struct {
	memcached.Outcome

	// objects are the live objects.
	objects []client.Object
	written bool
	// err is what Reconcile returns: nil unless another try, or another spec, may help.
	err error
	// transient says that the API server did not decide, so that nothing is known that would be worth telling.
	transient bool
	// wakeUp is when to look again at the latest; 0 for never.
	wakeUp time.Duration
}

// reason is the outcome in one word, for the metric.
func (d *done) reason() string {
	switch {
	case d.transient:
		return "Retried"
	case d.Problem != nil:
		return d.Problem.Reason
	case d.written:
		return "Applied"
	default:
		return "Unchanged"
	}
}

// apply writes the desired objects of a Memcached, unless it is paused or being deleted.
func (r *Reconciler) apply(ctx context.Context, mc *cachev1alpha1.Memcached, observed memcached.Observed) done {
	if mc.DeletionTimestamp != nil {
		return done{}
	}
	desired, err := memcached.Desired(mc, observed, r.options)
	if err != nil {
		return judge(err)
	}
	if memcached.Paused(mc) {
		pending, err := r.applier.Pending(mc, desired, observed.Objects())
		return done{Outcome: memcached.Outcome{Pending: pending}, err: err, transient: err != nil}
	}
	result, err := r.applier.Apply(ctx, mc, desired, observed.Objects())
	d := judge(err)
	d.objects, d.written = result.Objects, result.Written
	if result.Written {
		logf.FromContext(ctx).Info("Applied the objects of the Memcached")
	}
	if result.Created && d.wakeUp == 0 {
		d.wakeUp = lookAgain
	}
	return d
}

// judge turns the errors of Desired and Apply into an outcome: some are to be told to the user, some to be tried again.
func judge(err error) done {
	var d done
	var retry, terminal []error
	for _, err := range flatten(err) {
		var waiting *apply.WaitingError
		problem := problemOf(err)
		switch {
		case errors.As(err, &waiting):
			d.Waiting, d.wakeUp = waiting.Error(), lookAgain
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			d.Waiting = "The namespace is being deleted"
		case isTransient(err):
			d.transient = true
			retry = append(retry, err)
		case problem.Reason == cachev1alpha1.ReasonInvalidSpec || problem.Reason == cachev1alpha1.ReasonInvalidResources:
			d.add(problem)
			terminal = append(terminal, err)
		default:
			d.add(problem)
			retry = append(retry, err)
		}
	}
	if d.err = errors.Join(retry...); d.err == nil && len(terminal) > 0 {
		d.err = reconcile.TerminalError(errors.Join(terminal...))
	}
	return d
}

// add tells a problem; the first one gives the reason.
func (d *done) add(problem memcached.Problem) {
	if d.Problem != nil {
		problem = memcached.Problem{Reason: d.Problem.Reason, Message: d.Problem.Message + "; " + problem.Message}
	}
	d.Problem = &problem
}

func problemOf(err error) memcached.Problem {
	var invalid *memcached.InvalidError
	var conflict *apply.ConflictError
	switch {
	case errors.As(err, &invalid):
		return memcached.Problem{Reason: invalid.Reason, Message: invalid.Message}
	case errors.As(err, &conflict):
		return memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: conflict.Error()}
	}
	problem := memcached.Problem{Reason: memcached.RefusalReason(err.Error()), Message: err.Error()}
	if apierrors.IsInvalid(err) && problem.Reason == cachev1alpha1.ReasonApplyFailed {
		problem.Reason = cachev1alpha1.ReasonInvalidSpec
	}
	return problem
}

// isTransient says whether the API server failed to decide, or decided about an object that has changed since. An error
// that is not the API server's is one of the network.
func isTransient(err error) bool {
	var status apierrors.APIStatus
	var conflict *apply.ConflictError
	var invalid *memcached.InvalidError
	if errors.As(err, &conflict) || errors.As(err, &invalid) {
		return false
	}
	if !errors.As(err, &status) {
		return true
	}
	if details := status.Status().Details; apierrors.IsInvalid(err) && details != nil {
		// The object of that name is another one than was observed.
		return slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
	}
	if apierrors.IsInternalError(err) {
		// A webhook that cannot be called refuses the object until somebody mends it.
		return memcached.RefusalReason(err.Error()) == cachev1alpha1.ReasonApplyFailed
	}
	return !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// flatten returns the errors that were joined.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &joined):
		return []error{err}
	}
	var flat []error
	for _, err := range joined.Unwrap() {
		flat = append(flat, flatten(err)...)
	}
	return flat
}
