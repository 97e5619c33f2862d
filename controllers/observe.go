// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// InstanceIndex is the index of pods by the name of their Memcached or MemcachedProxy.
const InstanceIndex = "instance"

func indexPods(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, InstanceIndex, func(pod client.Object) []string {
		return []string{pod.GetLabels()[memcached.InstanceLabel]}
	})
	if err != nil {
		return fmt.Errorf("index pods by instance: %w", err)
	}
	return nil
}

// get returns the Memcached; nil if the cache does not hold it. The operator creates none, so that means that it is gone.
func (r *Reconciler) get(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.Memcached, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.client.Get(ctx, name, mc); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get the Memcached: %w", err)
	}
	latest, _ := r.mutations.Latest(mc, true)
	mc, _ = latest.(*cachev1alpha1.Memcached)
	return mc, nil
}

// observe builds the View of a Memcached from the cache and from this process's own recent writes.
func (r *Reconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached) (memcached.View, error) {
	var observed memcached.Observed
	var errs []error
	for _, child := range memcached.Children {
		found, pending, err := r.read(ctx, child.Named(client.ObjectKeyFromObject(mc)), child.Expected(mc))
		if found != nil {
			observed.Children = append(observed.Children, found)
		}
		observed.PendingCreate = observed.PendingCreate || pending
		errs = append(errs, err)
	}
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingFields{InstanceIndex: mc.Name})
	observed.Pods = pods.Items
	view := memcached.NewView(mc, observed, r.serverClock.Now())
	if err := errors.Join(append(errs, err)...); err != nil {
		return view, fmt.Errorf("observe: %w", err)
	}
	view.Agents = r.agents.track(view)
	return view, nil
}

// read returns the object of this type and name: see ReadChild.
func (r *Reconciler) read(ctx context.Context, object client.Object, expected bool) (_ client.Object, pending bool, _ error) {
	return ReadChild(ctx, r.client, r.live, r.mutations, object, expected)
}

// ReadChild returns a child from the cache, or as this process last wrote it if that is newer; nil if there is none. If a child is
// expected and missing from the cache, it asks the API server: the object may have lost the label that the cache selects by.
// Pending reports that the cache has not received the object's creation yet.
func ReadChild(
	ctx context.Context, cached, live client.Reader, mutations *apply.MutationCache, object client.Object, expected bool,
) (_ client.Object, pending bool, _ error) {
	name := client.ObjectKeyFromObject(object)
	err := cached.Get(ctx, name, object)
	object.SetNamespace(name.Namespace) // a Get that fails leaves the object empty
	object.SetName(name.Name)
	latest, pending := mutations.Latest(object, err == nil)
	if latest == nil && apierrors.IsNotFound(err) && expected {
		latest, err = object, live.Get(ctx, name, object)
	}
	switch {
	case pending:
		return latest, true, client.IgnoreNotFound(err)
	case err != nil:
		return nil, false, client.IgnoreNotFound(err)
	default:
		return latest, false, nil
	}
}
