// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	ErrStale     = errors.New("the cache has not received the latest version of the Memcached or MemcachedProxy")
	errStaleTwin = errors.New("the cache has not received the latest version of the StatefulSet or the arguments of the twin")
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

// verifyBeforeWrites verifies the Memcached and its twins before a change of them.
func (r *Reconciler) verifyBeforeWrites(ctx context.Context, view memcached.View, changes apply.Plan) error {
	if len(changes.Pending()) == 0 {
		return nil
	}
	if err := r.VerifyBefore(ctx, view.Memcached, changes, view.Last.Generation > 0); err != nil {
		return err
	}
	return r.verifyTwins(ctx, view)
}

// observeForSteps reads the pods and their arguments past the cache, and the pods of twins, after it has verified the Memcached and its
// twins. A step that is decided from older ones could stop more nodes than the spec allows.
func (r *Reconciler) observeForSteps(ctx context.Context, view memcached.View) (memcached.View, error) {
	mc := view.Memcached
	if err := r.VerifyFresh(ctx, mc); err != nil {
		return view, err
	}
	if err := r.verifyTwins(ctx, view); err != nil {
		return view, err
	}
	view.Twins = slices.Clone(view.Twins)
	for _, v := range append([]*memcached.View{&view}, pointers(view.Twins)...) {
		var pods corev1.PodList
		labels := client.MatchingLabels(memcached.SelectorLabels(v.Memcached))
		if err := r.Live.List(ctx, &pods, client.InNamespace(mc.Namespace), labels); err != nil {
			return view, fmt.Errorf("read the pods before a step: %w", err)
		}
		v.Pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	}
	config := &corev1.ConfigMap{}
	config.Namespace, config.Name = mc.Namespace, mc.Name+memcached.ArgumentsSuffix
	children := slices.DeleteFunc(slices.Clone(view.Children), func(child client.Object) bool {
		return child.GetName() == config.Name
	})
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(config), config); {
	case err == nil:
		r.Mutations.RecordWrite(config)
		children = append(children, config)
	case !apierrors.IsNotFound(err):
		return view, fmt.Errorf("read the arguments before a step: %w", err)
	}
	view.Children = children
	return view, nil
}

func pointers[T any](values []T) []*T {
	var all []*T
	for i := range values {
		all = append(all, &values[i])
	}
	return all
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
