// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
)

// errOutdated says that the cache holds an earlier version of a Memcached than the API server.
var errOutdated = errors.New("the cache has not received the latest version of the Memcached")

// confirm asks the API server whether the cached Memcached is the latest, and returns an error if it is not: its deletion or
// its present spec will come. The cache may lag behind it: that of a process that started at an API server that lags itself
// (which Kubernetes rules out since 1.34), that of a standby, and every one whose watch was interrupted. What then looks
// like drift is what another process did with the spec of today, and undoing it would replace nodes for nothing.
func (r *Reconciler) confirm(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	var found cachev1alpha1.MemcachedList // by a list, since the operator needs no permission to get
	err := r.live.List(ctx, &found, client.InNamespace(mc.Namespace), client.MatchingFields{"metadata.name": mc.Name})
	if err != nil {
		return fmt.Errorf("confirm the Memcached: %w", err)
	}
	if len(found.Items) == 0 {
		return errOutdated
	}
	latest := &found.Items[0]
	sameDeletion := (latest.DeletionTimestamp == nil) == (mc.DeletionTimestamp == nil)
	if latest.UID != mc.UID || !sameDeletion || memcachedChange(mc, latest, true) != never {
		reduceMemcached(latest)
		r.mutations.RecordWrite(latest) // the next observation begins with it
		return errOutdated
	}
	r.confirmed.Store(client.ObjectKeyFromObject(mc), mc.UID)
	return nil
}

// confirmWrites confirms the Memcached before the first write of this process to its objects, and before one of them is
// created again: that it is missing may be the work of the garbage collector.
func (r *Reconciler) confirmWrites(ctx context.Context, mc *cachev1alpha1.Memcached, plan apply.Plan) error {
	missing := mc.Status.ObservedGeneration != 0 && plan.Missing()
	if !plan.Pending() || !missing && !r.unconfirmed(mc, plan.Changing()) {
		return nil
	}
	return r.confirm(ctx, mc)
}

// unconfirmed says whether nothing that this process did proves that its Memcached is not an old one: another process has
// reconciled it, as its status tells, or what exists of it.
func (r *Reconciler) unconfirmed(mc *cachev1alpha1.Memcached, exists bool) bool {
	name := client.ObjectKeyFromObject(mc)
	if mc.Status.ObservedGeneration == 0 && !exists {
		r.confirmed.Store(name, mc.UID)
		return false
	}
	uid, _ := r.confirmed.Load(name)
	return uid != mc.UID
}

// forget ends the memory of a Memcached that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.applier.Forget(name)
	r.confirmed.Delete(name)
	r.told.Delete(name)
	r.undecided.Delete(name)
	r.metrics.Forget(name.Namespace, name.Name)
}
