// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// Classify combines the problem of a plan, which may be nil, with an error of the reconcile. The result holds the problem to report
// and the error to return.
func (r *Reconciler) Classify(problem *memcached.Problem, err error) memcached.Written {
	written := memcached.Written{Problem: problem}
	report := func(reason, message string) {
		written.Problem = written.Problem.And(&memcached.Problem{Reason: reason, Message: message})
	}
	var retry []error
	for _, err := range flatten(err) {
		var obstacle *apply.ObstacleError
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			written.Waiting = "The namespace is being deleted"
		case !errors.As(err, &obstacle):
			written.Transient = written.Transient || failedToDecide(err)
			report(reasonFor(err), status.NameSpecFields(err.Error()))
			retry = append(retry, err)
		case obstacle.Why == apply.Waiting:
			written.Waiting = obstacle.Error()
		case obstacle.Why == apply.Conflict:
			report(cachev1alpha1.ReasonConflict, obstacle.Error())
			written.RetryAfter = memcached.Sooner(written.RetryAfter, conflictInterval)
		case obstacle.Why == apply.Contested:
			report(cachev1alpha1.ReasonFieldContested, obstacle.Error()+": "+remedy(obstacle))
			written.RetryAfter = memcached.Sooner(written.RetryAfter, obstacle.RetryAfter)
		default:
			report(cachev1alpha1.ReasonConflict, obstacle.Error()+": "+recreate(obstacle))
		}
	}
	if written.Err = errors.Join(retry...); written.Err == nil && problem != nil {
		written.Err = reconcile.TerminalError(errors.New(problem.Message))
	}
	return written
}

// reasonFor returns the reason for the condition Degraded. If the API server names invalid fields, the reason is InvalidSpec.
// Otherwise, the text of the API server's error decides.
func reasonFor(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) { // an error of the network, or of the operator
		return cachev1alpha1.ReasonApplyFailed
	}
	if apierrors.IsInvalid(err) && causedBy(answer, func(field string) bool { return field != "" }) {
		return cachev1alpha1.ReasonInvalidSpec // the text could mislead, because it quotes values of the spec
	}
	reason := status.RefusalReason(err.Error())
	if apierrors.IsInvalid(err) && reason == cachev1alpha1.ReasonApplyFailed {
		return cachev1alpha1.ReasonInvalidSpec
	}
	return reason
}

// causedBy calls the function field with each field that the API server names as a cause. It reports whether a call returns true.
func causedBy(answer apierrors.APIStatus, field func(string) bool) bool {
	details := answer.Status().Details
	return details != nil && slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return field(cause.Field) })
}

// remedy says what to do against another writer of the operator's fields.
func remedy(contested *apply.ObstacleError) string {
	switch {
	case contested.By == memcached.ManagedBy:
		return "another Memcached operator manages the same namespace with other settings: let only one do so"
	case memcached.IsWorkload(contested.Kind) && contested.Field == "spec.replicas":
		words := "aim what scales it at the Memcached, whose spec.size has the subresource scale"
		if strings.HasSuffix(contested.Name, memcached.ProxySuffix) {
			words += "; to scale proxies, remove spec.proxy.size"
		}
		return words
	default:
		return "stop that, or set the field of the Memcached that it follows from; until then it is corrected every 30 s at most"
	}
}

// recreate says what to do about a field that cannot change.
func recreate(immutable *apply.ObstacleError) string {
	return fmt.Sprintf("delete the %s but not its nodes, which the next one adopts, or replaces if they were ever restarted with kubectl "+
		"rollout restart or the operator's defaults have changed since: kubectl delete %s %s -n %s --cascade=orphan",
		immutable.Kind, strings.ToLower(immutable.Kind), immutable.Name, immutable.Namespace)
}

// beginsAnew reports whether an error only says that something has changed since it was read. The next reconcile decides with what is true
// then, so nobody has to be told.
func beginsAnew(err error) bool {
	errs := flatten(err)
	return len(errs) > 0 && !slices.ContainsFunc(errs, func(err error) bool {
		return !apierrors.IsConflict(err) && !errors.Is(err, apply.ErrChanged) && !errors.Is(err, ErrStale)
	})
}

// failedToDecide reports whether an error is likely to be temporary. Such errors come from an outage or overload of the API server,
// from a failure of the operator itself, or from an object that has changed since it was read.
func failedToDecide(err error) bool {
	var answer apierrors.APIStatus
	switch {
	case !errors.As(err, &answer):
		return true // an error of the network or of the operator
	case apierrors.IsInvalid(err):
		return false
	case reasonFor(err) != cachev1alpha1.ReasonApplyFailed:
		return false // this includes a webhook that cannot be called: a person must repair it
	}
	return !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err) && !apierrors.IsNotFound(err) &&
		!apierrors.IsMethodNotSupported(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// flatten returns the errors that were joined, at any depth.
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
