// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// ErrStale means that a cached Memcached or MemcachedProxy is not the latest. The other errors mean that a cached child of a Memcached
// is not the latest.
var (
	ErrStale          = errors.New("the cache has not received the latest version of the Memcached or MemcachedProxy")
	errStaleArguments = errors.New("the cache has not received the latest version of the arguments of the nodes")
	errStaleTwin      = errors.New("the cache has not received the latest version of the StatefulSet or the arguments of the twin")
)

// VerifyFresh asks the API server whether the cached resource has the latest spec and status, and returns an error if not. If the cached
// spec is old, children that another process has written for the new spec look like drift: see ADR-0005. If the cached status is old, a
// patch of it would mix two statuses. VerifyFresh lists a single resource, because the operator has no permission to get it.
func (r *Base[T]) VerifyFresh(ctx context.Context, cached T) error {
	list := r.kind.NewList()
	err := r.Live.List(ctx, list, client.InNamespace(cached.GetNamespace()), client.MatchingFields{"metadata.name": cached.GetName()})
	if err != nil {
		return fmt.Errorf("verify the owner: %w", err)
	}
	found, err := meta.ExtractList(list)
	if err != nil || len(found) == 0 {
		return errors.Join(ErrStale, err)
	}
	latest, _ := found[0].(T)
	sameStatus := equality.Semantic.DeepEqual(r.kind.Status(latest), r.kind.Status(cached))
	sameDeletion := (latest.GetDeletionTimestamp() == nil) == (cached.GetDeletionTimestamp() == nil)
	if latest.GetUID() != cached.GetUID() || latest.GetGeneration() != cached.GetGeneration() || !sameDeletion || !sameStatus {
		_, err := transformObject(latest)
		r.Mutations.RecordWrite(latest) // the next reconcile uses it
		return errors.Join(ErrStale, err)
	}
	r.SetVerified(cached)
	return nil
}

// VerifyOnce calls VerifyFresh, unless this process has already verified the resource.
func (r *Base[T]) VerifyOnce(ctx context.Context, cached T) error {
	if r.verified(cached) {
		return nil
	}
	return r.VerifyFresh(ctx, cached)
}

// VerifyBefore verifies the resource before this process first changes existing children. It also verifies the resource each time
// before a child is created again or adopted, because a deletion of the resource may be why the child is gone or has lost its owner. The
// first children need no check: if they exist, the API server refuses to create them. The argument reconciled reports that the resource has
// a status.
func (r *Base[T]) VerifyBefore(ctx context.Context, cached T, changes apply.Plan, reconciled bool) error {
	if reconciled && changes.Missing() {
		return r.VerifyFresh(ctx, cached)
	}
	if reconciled || changes.Changing() {
		return r.VerifyOnce(ctx, cached)
	}
	return nil
}

// verifyBeforeWrites verifies the Memcached, its twins, and the cached arguments before a change of them.
func (r *Reconciler) verifyBeforeWrites(ctx context.Context, view memcached.View, changes apply.Plan) error {
	if len(changes.Pending()) == 0 {
		return nil
	}
	if err := r.VerifyBefore(ctx, view.Memcached, changes, view.Last.Generation > 0); err != nil {
		return err
	}
	if changes.FirstPending() {
		if err := r.verifyArguments(ctx, view); err != nil {
			return err
		}
	}
	return r.verifyTwins(ctx, view)
}

// verifyArguments asks the API server whether the cached ConfigMap with memcached's arguments is current, before this process
// first changes it. A change based on an older ConfigMap could restart nodes.
func (r *Reconciler) verifyArguments(ctx context.Context, view memcached.View) error {
	name := client.ObjectKeyFromObject(view.Memcached)
	live := view.ArgumentsObject()
	if live == nil || r.states.get(name).verifiedArguments == live.GetUID() {
		return nil
	}
	latest := &corev1.ConfigMap{}
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(live), latest); {
	case apierrors.IsNotFound(err):
		r.Mutations.RecordDelete(live)
		return errStaleArguments
	case err != nil:
		return fmt.Errorf("verify the arguments: %w", err)
	}
	r.Mutations.RecordWrite(latest)
	if latest.GetResourceVersion() != live.GetResourceVersion() {
		return errStaleArguments
	}
	r.states.update(name, func(s *instanceState) { s.verifiedArguments = live.GetUID() })
	return nil
}

// verifyTwins asks the API server, once for each twin, whether the cached StatefulSet and arguments of the twin are current. These objects
// show whether the twin stops a node. Without this check, both Memcacheds could stop a node with the same items after a restart of the
// operator.
func (r *Reconciler) verifyTwins(ctx context.Context, view memcached.View) error {
	name := client.ObjectKeyFromObject(view.Memcached)
	for _, twin := range view.Copies() {
		if r.states.get(name).verifiedTwins[twin.Memcached.UID] {
			continue
		}
		if err := r.verifyChildren(ctx, twin.Children); err != nil {
			return err
		}
		r.states.update(name, func(s *instanceState) {
			s.verifiedTwins = maps.Clone(s.verifiedTwins)
			if s.verifiedTwins == nil {
				s.verifiedTwins = map[types.UID]bool{}
			}
			s.verifiedTwins[twin.Memcached.UID] = true
		})
	}
	return nil
}

// verifyChildren asks the API server whether cached children of a twin are current, and returns errStaleTwin if one is not.
func (r *Reconciler) verifyChildren(ctx context.Context, children []client.Object) (result error) {
	for _, cached := range children {
		child, _ := memcached.ChildOf(cached)
		latest := child.New()
		switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), latest); {
		case apierrors.IsNotFound(err):
			r.Mutations.RecordDelete(cached)
			result = errStaleTwin
		case err != nil:
			return fmt.Errorf("verify %s: %w", cached.GetName(), err)
		default:
			r.Mutations.RecordWrite(latest)
			if latest.GetResourceVersion() != cached.GetResourceVersion() {
				result = errStaleTwin
			}
		}
	}
	return result
}

// forget drops what this process remembers of a deleted Memcached.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.Forget(name)
	r.states.forget(name)
	r.agents.forget(name)
	r.metrics.Forget(name.Namespace, name.Name)
}
