// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// Get returns the Memcached, or nil if the cache does not hold it. It returns ErrStale if the cache lacks the last status that this process
// has written: a patch of an older status would be refused.
func (r *Reconciler) Get(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.Memcached, error) {
	cached := &cachev1alpha1.Memcached{}
	if err := r.Client.Get(ctx, name, cached); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get the Memcached: %w", err)
	}
	// A restored cluster may have lower resource versions. So this ends at some time.
	known := r.known.get(name)
	order, err := resourceversion.CompareResourceVersion(known.written, cached.GetResourceVersion())
	if err == nil && order > 0 && r.Clock.Since(known.writtenAt) < RecheckInterval {
		return nil, ErrStale
	}
	return cached, nil
}

// readChildren returns the existing objects that have the names of the Memcached's children.
func (r *Reconciler) readChildren(ctx context.Context, mc *cachev1alpha1.Memcached) (children []client.Object, _ error) {
	var errs []error
	for _, child := range memcached.Children {
		found, err := r.read(ctx, child.Named(client.ObjectKeyFromObject(mc)), child.Expected != nil && child.Expected(mc))
		if found != nil {
			children = append(children, found)
		}
		errs = append(errs, err)
	}
	return children, errors.Join(errs...)
}

// read returns the child as the cache holds it, or nil if there is none. If the cache lacks an expected child, the child may have lost the
// label by which the cache selects objects. So read asks the API server for it.
func (r *Reconciler) read(ctx context.Context, object client.Object, expected bool) (client.Object, error) {
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
