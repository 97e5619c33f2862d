// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// ErrStale means that a cached Memcached is not the latest.
var ErrStale = errors.New("the cache has not received the latest version of the Memcached")

// VerifyFresh asks the API server whether the cached Memcached has the latest spec and status, and returns an error if not. If the cached
// spec is old, children that another process has written for the new spec look like drift: see ADR-0005. Whatever is to be changed must
// have been read before: what another process changes later for a newer spec has another resource version than the write carries.
// VerifyFresh lists a single one, because the operator has no permission to get it.
func (r *Reconciler) VerifyFresh(ctx context.Context, cached *cachev1alpha1.Memcached) error {
	var found cachev1alpha1.MemcachedList
	err := r.Live.List(ctx, &found, client.InNamespace(cached.GetNamespace()), client.MatchingFields{"metadata.name": cached.GetName()})
	if err != nil {
		return fmt.Errorf("verify the Memcached: %w", err)
	}
	if len(found.Items) == 0 || found.Items[0].ResourceVersion != cached.ResourceVersion {
		return ErrStale
	}
	return nil
}

// observeForSteps reads the StatefulSets, their pods and the pods' arguments past the cache. A step that is decided from older ones could
// stop more nodes than the spec allows, or two nodes with the same items.
func (r *Reconciler) observeForSteps(ctx context.Context, view memcached.View) (memcached.View, error) {
	mc, observed := view.Memcached, view.Observed
	var pods corev1.PodList
	err := r.Live.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingLabels(memcached.SelectorLabels(mc)))
	if err != nil {
		return view, fmt.Errorf("read the nodes before a step: %w", err)
	}
	observed.Pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	arguments := &corev1.ConfigMap{}
	arguments.Name = mc.Name + memcached.ArgumentsSuffix
	objects := []client.Object{arguments}
	for number := range memcached.Copies(mc) {
		set := &appsv1.StatefulSet{}
		set.Name = memcached.CopyName(mc, number)
		objects = append(objects, set)
	}
	observed.Children = slices.Clone(view.Children)
	for _, object := range objects {
		name := client.ObjectKey{Namespace: mc.Namespace, Name: object.GetName()}
		observed.Children = slices.DeleteFunc(observed.Children, func(child client.Object) bool {
			return reflect.TypeOf(child) == reflect.TypeOf(object) && child.GetName() == name.Name
		})
		switch err := r.Live.Get(ctx, name, object); {
		case err == nil:
			observed.Children = append(observed.Children, object)
		case !apierrors.IsNotFound(err):
			return view, fmt.Errorf("read the nodes before a step: %w", err)
		}
	}
	return view.With(observed), nil
}

// forget drops what this process remembers of a deleted Memcached.
func (r *Reconciler) forget(name types.NamespacedName) {
	for _, child := range memcached.Children {
		r.Applier.Forget(child.Named(name))
	}
	r.known.forget(name)
	r.states.forget(name)
	r.agents.forget(name)
	r.metrics.Forget(name.Namespace, name.Name)
}
