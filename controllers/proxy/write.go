// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// write carries out a plan. It writes nothing while the MemcachedProxy is being deleted, or if the plan says HoldAll.
func (r *Reconciler) write(ctx context.Context, view memcachedproxy.View, plan memcachedproxy.Plan) memcached.Written {
	proxy := view.Proxy
	switch {
	case proxy.DeletionTimestamp != nil:
		return memcached.Written{}
	case plan.HoldAll:
		written := memcached.Written{Problem: plan.Problem, RetryAfter: controllers.RecheckInterval}
		written.TemplatePending = view.Workload() != nil
		return written
	}
	var sizeOnly []client.Object
	if plan.HoldTemplate {
		sizeOnly = plan.Objects
	}
	changes := r.Applier.Plan(ctx, proxy, proxy.Status.ObservedGeneration > 0, plan.Objects, view.Children, sizeOnly...)
	if changes.Rewrites() {
		if err := r.verify(ctx, view, plan); err != nil {
			return r.Classify(nil, err)
		}
	}
	written, _ := r.Apply(ctx, proxy, changes, plan.Objects, nil)
	written.Problem = written.Problem.And(plan.Problem)
	return written
}

// verify verifies the MemcachedProxy. Before a plan announces a new number of nodes, it also verifies the pools: an announcement cannot be
// taken back.
func (r *Reconciler) verify(ctx context.Context, view memcachedproxy.View, plan memcachedproxy.Plan) error {
	if plan.Announcing {
		for _, pool := range view.Pools() {
			if err := r.verifyPool(ctx, pool); err != nil {
				return err
			}
		}
	}
	return r.VerifyFresh(ctx, view.Proxy)
}

// verifyPool asks the API server whether the cached Memcached has the latest spec and servers.
func (r *Reconciler) verifyPool(ctx context.Context, cached *cachev1alpha1.Memcached) error {
	var latest cachev1alpha1.MemcachedList
	err := r.Live.List(ctx, &latest, client.InNamespace(cached.Namespace), client.MatchingFields{"metadata.name": cached.Name})
	if err != nil {
		return fmt.Errorf("verify the pool: %w", err)
	}
	if len(latest.Items) != 1 || latest.Items[0].Generation != cached.Generation ||
		!slices.Equal(latest.Items[0].Status.Servers, cached.Status.Servers) {
		return controllers.ErrStale
	}
	return nil
}

// report writes the status if it has changed, and emits events for its transitions. Nothing else writes the status.
func (r *Reconciler) report(
	ctx context.Context, proxy *cachev1alpha1.MemcachedProxy, status cachev1alpha1.MemcachedProxyStatus,
) error {
	if equality.Semantic.DeepEqual(proxy.Status, status) {
		return nil
	}
	base, updated := &cachev1alpha1.MemcachedProxy{Status: proxy.Status}, &cachev1alpha1.MemcachedProxy{Status: status}
	// In Go, a count of 0 and a missing count are equal. With -1 in the base, the patch always contains the counts.
	base.Status.Replicas, base.Status.ReadyReplicas, base.Status.UpdatedReplicas = -1, -1, -1
	if written, err := r.PatchStatus(ctx, proxy, base, updated); !written {
		return err
	}
	r.EmitTransitions(proxy, proxy.Status.Conditions, status.Conditions)
	return nil
}
