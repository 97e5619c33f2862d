// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// absent is the resource version of an apply that must create its object. If the object exists, the API server answers 409.
const absent = "1"

// create creates an object. If the object exists, create fails, because the plan was made without it. In that case, the cache lags, or
// the object lacks the label by which the cache selects objects.
func (a *Applier) create(ctx context.Context, owner client.Object, s step) (client.Object, error) {
	if s.inTheWay != nil {
		switch exists, err := a.discover(ctx, owner, s.desired); {
		case err != nil:
			return nil, err
		case exists:
			return nil, errUnseen
		}
	}
	s.rendered.SetResourceVersion(absent)
	created, err := a.send(ctx, s)
	s.rendered.SetResourceVersion("") // otherwise the version would count as a difference
	if err == nil {
		a.conflicts.forget(created)
		a.answers.record(created, s.rendered)
	}
	if !apierrors.IsConflict(err) {
		return created, err
	}
	if _, found := a.discover(ctx, owner, s.desired); found != nil {
		return nil, found
	}
	return nil, err
}

// errUnseen makes the reconcile start again, with the object that was missing from the cache.
var errUnseen = errors.New("the cache has not received an object that exists")

// discover asks the API server for an object that is missing from the cache. It records an object of this owner in the
// MutationCache, and an object of another owner as a conflict.
func (a *Applier) discover(ctx context.Context, owner, desired client.Object) (exists bool, _ error) {
	live, err := a.empty(desired)
	if err != nil {
		return false, err
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	err = a.checkOwnership(owner, desired, live)
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		return true, a.conflicts.found(desired, conflict)
	}
	a.conflicts.forget(desired)
	if err == nil {
		a.mutations.RecordWrite(live)
	}
	return true, err
}
