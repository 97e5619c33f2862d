// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// absent is the resource version of an object that must not exist yet: an apply that carries it creates, and is answered
// with 409 if the object exists.
const absent = "1"

// create applies an object that must not exist. If it does, the cache cannot see it, as it lacks the label that the cache
// selects by, or lags. Then what is there decides. If that is ours the refusal is returned: what is desired may depend on the
// object that was not seen.
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
	s.rendered.SetResourceVersion("") // it is no difference
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

// errUnseen reports that the next observation begins with an object that the cache has not received.
var errUnseen = errors.New("the cache has not received an object that exists")

// discover asks the API server for an object that the cache does not hold. It remembers one of ours, and what is in the way.
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
