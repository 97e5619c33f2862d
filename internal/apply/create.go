// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// absent is the resource version of an object that must not exist yet: an apply that carries it creates, and is answered
// with 409 if the object exists.
const absent = "1"

// The API server is asked whether an object that is in the way is still there after the first interval, and then after twice
// as long each time, so that its name is noticed to be free within a minute.
const (
	firstConflictInterval = 5 * time.Second
	lastConflictInterval  = 55 * time.Second
)

// conflict is an object of somebody else, which the cache does not hold.
type conflict struct {
	found    ConflictError
	interval time.Duration
	at       time.Time
}

// conflict returns what is known to be in the way of a desired object, nil if nothing is.
func (a *Applier) conflict(desired client.Object) *ConflictError {
	known, ok := a.conflicts.get(desired)
	if !ok {
		return nil
	}
	found := known.found
	found.RetryAfter = max(known.interval-a.clock.Since(known.at), 0)
	return &found
}

// foundConflict remembers what is in the way.
func (a *Applier) foundConflict(desired client.Object, found *ConflictError) *ConflictError {
	interval := firstConflictInterval
	if known, ok := a.conflicts.get(desired); ok {
		interval = min(2*known.interval, lastConflictInterval)
	}
	a.conflicts.set(desired, conflict{found: *found, interval: interval, at: a.clock.Now()})
	result := *found
	result.RetryAfter = interval
	return &result
}

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
	created, err := a.send(ctx, s.desired, s.rendered)
	if err == nil {
		a.conflicts.forget(created)
		a.answered(created, s.rendered)
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
		return true, a.foundConflict(desired, conflict)
	}
	a.conflicts.forget(desired)
	if err == nil {
		a.mutations.RecordWrite(live)
	}
	return true, err
}
