// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// Kind describes the kind of resource that a reconciler handles.
type Kind[T client.Object] struct {
	Name    string
	New     func() T
	NewList func() client.ObjectList
	// Children describe the objects that the operator keeps for each resource.
	Children []memcached.Child[T]
	// IdentityOf returns the labels that all children of the resource with this name have.
	IdentityOf func(name string) map[string]string
	Status     func(T) any
}

// Base is the common part of the reconcilers of Memcacheds and MemcachedProxies.
type Base[T client.Object] struct {
	kind Kind[T]
	// Client reads from the cache and writes to the API server. Live reads from the API server.
	Client   client.Client
	Live     client.Reader
	Applier  *apply.Applier
	Nodes    Nodes
	Recorder events.EventRecorder
	// Clock measures elapsed time. ServerClock shows the API server's time, for comparison with the times in objects.
	Clock, ServerClock clock.PassiveClock
	Options            memcached.Options
	known              states[known]
}

// NewBase returns a Base that uses the given clock for both of its clocks. Its Nodes connect to the addresses of pods.
func NewBase[T client.Object](
	kind Kind[T], c client.Client, live client.Reader, recorder events.EventRecorder, clock clock.PassiveClock, options memcached.Options,
) *Base[T] {
	return &Base[T]{
		kind: kind, Client: c, Live: live, Nodes: nodes{client: protocol.NewClient()}, Recorder: recorder,
		Clock: clock, ServerClock: clock, Options: options,
		Applier: apply.New(c, live, clock, apply.Options{
			FieldOwner:     memcached.ManagedBy,
			HashAnnotation: memcached.AppliedHashAnnotation,
			Identity:       func(owner client.Object) map[string]string { return kind.IdentityOf(owner.GetName()) },
			Rules:          memcached.FieldRules(kind.Children),
		}),
	}
}

// Use sets what the options contain.
func (r *Base[T]) Use(options Options) {
	r.Nodes = cmp.Or(options.Nodes, r.Nodes)
	r.ServerClock = cmp.Or(options.ServerClock, r.ServerClock)
}

// Get returns the resource, or nil if the cache does not hold it. It returns ErrStale if the cache lacks the last status that this process
// has written: a patch of an older status would be refused.
func (r *Base[T]) Get(ctx context.Context, name types.NamespacedName) (found T, _ error) {
	cached := r.kind.New()
	if err := r.Client.Get(ctx, name, cached); apierrors.IsNotFound(err) {
		return found, nil
	} else if err != nil {
		return found, fmt.Errorf("get the %s: %w", r.kind.Name, err)
	}
	// A restored cluster may have lower resource versions. So this ends at some time.
	known := r.known.get(name)
	order, err := resourceversion.CompareResourceVersion(known.written, cached.GetResourceVersion())
	if err == nil && order > 0 && r.Clock.Since(known.writtenAt) < RecheckInterval {
		return found, ErrStale
	}
	return cached, nil
}

// ReadChildren returns the existing objects that have the names of the owner's children.
func (r *Base[T]) ReadChildren(ctx context.Context, owner T) (children []client.Object, _ error) {
	var errs []error
	for _, child := range r.kind.Children {
		found, err := r.read(ctx, child.Named(client.ObjectKeyFromObject(owner)), child.Expected != nil && child.Expected(owner))
		if found != nil {
			children = append(children, found)
		}
		errs = append(errs, err)
	}
	return children, errors.Join(errs...)
}

// read returns the child as the cache holds it, or nil if there is none. If the cache lacks an expected child, the child may have lost the
// label by which the cache selects objects. So read asks the API server for it.
func (r *Base[T]) read(ctx context.Context, object client.Object, expected bool) (client.Object, error) {
	name := client.ObjectKeyFromObject(object)
	err := r.Client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) && expected {
		err = r.Live.Get(ctx, name, object)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object, nil
}

// Forget drops what this process remembers of a deleted resource.
func (r *Base[T]) Forget(name types.NamespacedName) {
	gone := r.kind.New()
	gone.SetNamespace(name.Namespace)
	gone.SetName(name.Name)
	r.Applier.Forget(gone)
	for _, child := range r.kind.Children {
		r.Applier.Forget(child.Named(name))
	}
	r.known.forget(name)
}
