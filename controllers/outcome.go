// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// lookAgain is when the operator looks again without having been woken: at an object in the way that it does not watch,
// and at a creation that the cache should have confirmed by then.
const lookAgain = apply.CreationGrace

// applied is what became of the objects of a Memcached.
type applied struct {
	memcached.Outcome

	// objects are the live objects.
	objects []client.Object
	// created says that an object was created, written that one was created, changed or deleted.
	created, written bool
	// err is what Reconcile returns: nil unless another try, or another spec, may help.
	err error
	// transient says that the API server did not decide about some of the objects, so that soon more will be known.
	transient bool
	// retryAfter is when to look again at what no watch tells of, 0 for never.
	retryAfter time.Duration
}

// reason is the outcome in one word, for the metric.
func (a *applied) reason() string {
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

// result is what Reconcile returns. An error is tried again, unless another spec is needed, and what else is waited for wakes the
// controller, but for objects that are not watched, for creations that a watch has missed, and for the end of a contest.
func (a *applied) result(unconfirmed bool) (reconcile.Result, error) {
	wait := a.retryAfter
	if unconfirmed || a.created || a.Waiting != "" {
		wait = sooner(wait, lookAgain)
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

// tellUndecided is for how long the API server may fail to decide before that is told. A webhook may fail for ever, and what
// else there is to tell must not wait for it.
const tellUndecided = time.Minute

// undecidedYet says whether the API server has failed to decide for a short time only, so that there is nothing to tell.
func (r *Reconciler) undecidedYet(name types.NamespacedName, applied applied) bool {
	if !applied.transient {
		r.undecided.Delete(name)
		return false
	}
	value, _ := r.undecided.LoadOrStore(name, r.clock.Now())
	since, ok := value.(time.Time)
	return ok && r.clock.Since(since) < tellUndecided
}

// apply writes the desired objects of a Memcached, unless it is paused or being deleted.
func (r *Reconciler) apply(ctx context.Context, mc *cachev1alpha1.Memcached, observed memcached.Observed) applied {
	if mc.DeletionTimestamp != nil {
		return applied{}
	}
	desired, invalid := memcached.Desired(mc, observed, r.options)
	plan := r.applier.Plan(mc, desired, observed.Objects())
	if invalid != nil { // the pods that run stay as they are; all else is as it should be
		plan = r.applier.PlanPartial(mc, desired, observed.Objects())
	}
	drifted := plan.Differs(deploymentKind.Kind, podTemplate...)
	if memcached.Paused(mc) {
		a := judge(errors.Join(invalid, plan.Err()))
		a.Pending, a.TemplatePending = plan.Pending(), drifted
		return a
	}
	if err := r.confirmWrites(ctx, mc, plan); err != nil {
		return judge(err)
	}
	result, err := r.applier.Apply(ctx, plan)
	a := judge(errors.Join(invalid, err))
	a.TemplatePending = drifted && err != nil &&
		r.applier.Plan(mc, desired, result.Objects).Differs(deploymentKind.Kind, podTemplate...)
	a.objects, a.created, a.written = result.Objects, result.Created, result.Written
	for _, kind := range result.Corrected {
		r.metrics.Corrected(kind)
	}
	if result.Written {
		logf.FromContext(ctx).Info("Applied the objects of the Memcached")
	}
	return a
}

// judge turns the errors of Desired and Apply into an outcome: some are to be told to the user, some to be tried again.
func judge(err error) applied {
	var a applied
	var retry, terminal []error
	for _, err := range flatten(err) {
		var waiting *apply.WaitingError
		var invalid *memcached.InvalidError
		var conflict *apply.ConflictError
		var contested *apply.ContestedError
		switch {
		case errors.As(err, &waiting):
			a.Waiting = waiting.Error()
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			a.Waiting = "The namespace is being deleted"
		case errors.As(err, &invalid):
			a.add(memcached.Problem{Reason: invalid.Reason, Message: invalid.Message})
			terminal = append(terminal, err)
		case errors.As(err, &conflict):
			a.add(memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: conflict.Error()})
			a.retryAfter = sooner(a.retryAfter, cmp.Or(conflict.RetryAfter, lookAgain))
		case errors.As(err, &contested):
			a.add(memcached.Problem{Reason: cachev1alpha1.ReasonFieldContested, Message: contested.Error() + ": " + remedy(contested)})
			a.retryAfter = sooner(a.retryAfter, contested.RetryAfter)
		default:
			a.transient = a.transient || isTransient(err)
			a.add(problemOf(err))
			retry = append(retry, err)
		}
	}
	if a.err = errors.Join(retry...); a.err == nil && len(terminal) > 0 {
		a.err = reconcile.TerminalError(errors.Join(terminal...))
	}
	return a
}

// add tells a problem; the first one gives the reason.
func (a *applied) add(problem memcached.Problem) {
	if a.Problem != nil {
		problem = memcached.Problem{Reason: a.Problem.Reason, Message: a.Problem.Message + "; " + problem.Message}
	}
	a.Problem = &problem
}

func problemOf(err error) memcached.Problem {
	problem := memcached.Problem{Reason: memcached.RefusalReason(err.Error()), Message: err.Error()}
	if apierrors.IsInvalid(err) && problem.Reason == cachev1alpha1.ReasonApplyFailed {
		problem.Reason = cachev1alpha1.ReasonInvalidSpec
	}
	return problem
}

// remedy says what helps against somebody else who keeps writing what is ours.
func remedy(contested *apply.ContestedError) string {
	switch {
	case contested.Manager == fieldOwner:
		return "another Memcached operator manages the same namespace with other settings: let only one do so"
	case contested.Kind == "Deployment" && contested.Field == "spec.replicas":
		return "aim what scales it at the Memcached, whose spec.size has the subresource scale"
	default:
		return "stop that, or set the field of the Memcached that it follows from; until then it is corrected every 30 s at most"
	}
}

// isTransient says whether the API server failed to decide, or decided about an object that has changed since.
func isTransient(err error) bool {
	var render *apply.RenderError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &render):
		return false
	case !errors.As(err, &status):
		return true // the network
	case apierrors.IsInvalid(err):
		// The object of that name is another one than was observed.
		details := status.Status().Details
		return details != nil && slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool {
			return cause.Field == "metadata.uid"
		})
	case memcached.RefusalReason(err.Error()) != cachev1alpha1.ReasonApplyFailed:
		return false // also a webhook that cannot be called: somebody must mend it
	}
	return !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err) && !apierrors.IsNotFound(err) &&
		!apierrors.IsMethodNotSupported(err) && !apierrors.IsRequestEntityTooLargeError(err)
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
