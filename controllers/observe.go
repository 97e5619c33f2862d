// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// InstanceIndex is the name of the index of pods by their Memcached or MemcachedProxy.
const InstanceIndex = "instance"

// FillFromIndex is the name of the index of Memcacheds by the Memcached from which they fill their nodes.
const FillFromIndex = "spec.fillFrom.name"

func indexFields(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, InstanceIndex, func(pod client.Object) []string {
		return []string{pod.GetLabels()[memcached.InstanceLabel]}
	})
	if err != nil {
		return fmt.Errorf("index pods by instance: %w", err)
	}
	err = indexer.IndexField(ctx, &cachev1alpha1.Memcached{}, FillFromIndex, func(object client.Object) []string {
		if mc, ok := object.(*cachev1alpha1.Memcached); ok && memcached.FillsFrom(mc) != "" {
			return []string{memcached.FillsFrom(mc)}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index Memcacheds by their twins: %w", err)
	}
	return nil
}

// observe builds the View of a Memcached from the cache.
func (r *Reconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached) (memcached.View, error) {
	children, childrenErr := r.ReadChildren(ctx, mc)
	pods, podsErr := r.pods(ctx, mc)
	observed := memcached.Observed{Children: children, Pods: pods}
	view := memcached.NewView(mc, observed, r.ServerClock.Now())
	twins, twinsErr := r.observeTwins(ctx, mc)
	view.Twins = twins
	if err := errors.Join(childrenErr, podsErr, twinsErr); err != nil {
		return view, fmt.Errorf("observe: %w", err)
	}
	view.Agents = r.agents.track(view)
	return view, nil
}

func (r *Reconciler) pods(ctx context.Context, mc *cachev1alpha1.Memcached) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingFields{InstanceIndex: mc.Name})
	return pods.Items, err
}
