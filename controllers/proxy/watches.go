// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type handlerFuncs = handler.TypedFuncs[client.Object, reconcile.Request]

// memcacheds returns the event handler for Memcacheds. If a Memcached is created or deleted, or its spec, servers or observed generation
// change, the handler enqueues the MemcachedProxies that route to the Memcached, and the MemcachedProxy of the same name.
func (r *Reconciler) memcacheds() handlerFuncs {
	wake := func(ctx context.Context, object client.Object, q queue) {
		var found cachev1alpha1.MemcachedProxyList
		name := client.ObjectKeyFromObject(object)
		names := []types.NamespacedName{name}
		// Reading the cache fails only while the process ends.
		if r.Client.List(ctx, &found, client.InNamespace(name.Namespace)) == nil {
			for i := range found.Items {
				if slices.Contains(found.Items[i].Spec.Pools, cachev1alpha1.MemcachedProxyPool{Name: name.Name}) {
					names = append(names, client.ObjectKeyFromObject(&found.Items[i]))
				}
			}
		}
		controllers.Enqueue(q, 0, names...)
	}
	return handlerFuncs{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if !e.IsInInitialList { // at the start, each MemcachedProxy is reconciled anyway
				wake(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			before, beforeOK := e.ObjectOld.(*cachev1alpha1.Memcached)
			after, afterOK := e.ObjectNew.(*cachev1alpha1.Memcached)
			if beforeOK && afterOK && (before.Generation != after.Generation || !slices.Equal(before.Status.Servers, after.Status.Servers) ||
				before.Status.ObservedGeneration != after.Status.ObservedGeneration) {
				wake(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object], q queue) { wake(ctx, e.Object, q) },
	}
}

// children returns the event handler for one Kind of child. It enqueues the MemcachedProxy in the object's labels, and the
// MemcachedProxy whose child would have the object's name.
func (r *Reconciler) children(child memcached.Child[*cachev1alpha1.MemcachedProxy]) handlerFuncs {
	return controllers.Watch(controllers.ChildChange(child), func(object client.Object) []types.NamespacedName {
		return []types.NamespacedName{instanceOf(object), child.OwnerOf(client.ObjectKeyFromObject(object))}
	})
}

// instanceOf returns the name of the MemcachedProxy in an object's labels, or an empty name.
func instanceOf(object client.Object) types.NamespacedName {
	if object.GetLabels()[memcached.NameLabel] != memcachedproxy.Name {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[memcached.InstanceLabel]}
}
