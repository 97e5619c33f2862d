// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

const kind = "MemcachedProxy"

// write carries out a plan, unless the MemcachedProxy is being deleted.
func (r *Reconciler) write(ctx context.Context, view memcachedproxy.View, plan memcachedproxy.Plan) memcached.Written {
	proxy := view.Proxy
	switch {
	case proxy.DeletionTimestamp != nil:
		return memcached.Written{}
	case plan.HoldAll:
		written := memcached.Written{Problem: plan.Problem, RetryAfter: recheckInterval}
		written.TemplatePending = view.Workload() != nil
		return written
	}
	var sizeOnly []client.Object
	if plan.HoldTemplate {
		sizeOnly = plan.Objects
	}
	changes := r.applier.Plan(proxy, plan.Objects, view.Children, sizeOnly...)
	if err := r.verify(ctx, view, plan, changes); err != nil {
		return controllers.Classify(kind, nil, err)
	}
	result, err := r.applier.Apply(ctx, changes)
	written := controllers.Classify(kind, nil, err)
	written.Problem = written.Problem.And(plan.Problem)
	written.TemplatePending = err != nil && r.applier.Plan(proxy, plan.Objects, result.Objects).Differs("Deployment", "spec", "template")
	written.Objects, written.Created, written.Changed = result.Objects, len(result.Created) > 0, result.Written
	if written.Created {
		r.setVerified(proxy)
	}
	if result.Written {
		logf.FromContext(ctx).Info("Applied the objects of the MemcachedProxy")
	}
	return written
}

// verify asks the API server whether the cache has the present MemcachedProxy before the first write of this process to children that
// exist, and before one of them is created again. Before another number of nodes is announced, which cannot be taken back, it asks for
// the pools, and for the routes: proxies may have read what was announced before.
func (r *Reconciler) verify(ctx context.Context, view memcachedproxy.View, plan memcachedproxy.Plan, changes apply.Plan) error {
	if len(changes.Pending()) == 0 {
		return nil
	}
	proxy, reconciled := view.Proxy, view.Proxy.Status.ObservedGeneration > 0
	if reconciled && changes.Missing() || (reconciled || changes.Changing()) && !r.verified(proxy) {
		if err := r.verifyFresh(ctx, proxy); err != nil {
			return err
		}
	}
	if !plan.Announcing {
		return nil
	}
	for _, pool := range view.Pools() {
		if err := r.verifyPool(ctx, pool); err != nil {
			return err
		}
	}
	cached := view.ConfigMap()
	latest := cached.DeepCopy()
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(cached), latest); err != nil {
		return fmt.Errorf("verify the routes: %w", err)
	}
	if !equality.Semantic.DeepEqual(latest.Data, cached.Data) {
		r.mutations.RecordWrite(latest)
		return controllers.ErrStale
	}
	return nil
}

// verifyPool asks the API server whether the cache has the present servers of a Memcached.
func (r *Reconciler) verifyPool(ctx context.Context, cached *cachev1alpha1.Memcached) error {
	var latest cachev1alpha1.MemcachedList
	err := r.live.List(ctx, &latest, client.InNamespace(cached.Namespace), client.MatchingFields{"metadata.name": cached.Name})
	if err != nil {
		return fmt.Errorf("verify the pool: %w", err)
	}
	if len(latest.Items) != 1 || latest.Items[0].Generation != cached.Generation ||
		!slices.Equal(latest.Items[0].Status.Servers, cached.Status.Servers) {
		return controllers.ErrStale
	}
	return nil
}

// verifyFresh asks the API server whether the cached MemcachedProxy is the latest, and returns an error if it is not.
func (r *Reconciler) verifyFresh(ctx context.Context, proxy *cachev1alpha1.MemcachedProxy) error {
	if err := controllers.VerifyFresh(ctx, r.live, r.mutations, proxy, &cachev1alpha1.MemcachedProxyList{}); err != nil {
		return err
	}
	r.setVerified(proxy)
	return nil
}
