// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// debounce is the delay from an event that is not urgent, such as one of a pod, to the reconcile. A rollout causes many events, and
// one reconcile handles all that arrive within the delay.
const debounce = 500 * time.Millisecond

// failedPriority is the priority of retries: below new work, above the initial list.
const failedPriority = -10

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueDelay is the time from an event to the reconcile. 0 means at once. The negative value of the constant "never" means no
// reconcile.
type enqueueDelay = time.Duration

const never enqueueDelay = -1

// memcacheds returns the event handler for Memcacheds. It enqueues each at the start, at each resync, when it is created or deleted, and as
// memcachedChange says. handler.TypedFuncs gives the initial list and resyncs a low priority.
func (r *Reconciler) memcacheds() handler.TypedFuncs[client.Object, reconcile.Request] {
	funcs := watch(0, memcachedChange, func(mc client.Object) []types.NamespacedName {
		return []types.NamespacedName{client.ObjectKeyFromObject(mc)}
	})
	created, updated := funcs.CreateFunc, funcs.UpdateFunc
	funcs.CreateFunc = func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
		if e.IsInInitialList {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
			return
		}
		created(ctx, e, q)
	}
	funcs.UpdateFunc = func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
		if isResync(e) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
			return
		}
		updated(ctx, e, q)
	}
	return funcs
}

// isResync reports whether an update repeats what the cache holds, as in periodic resyncs and after interrupted watches. Only
// resyncs of owners cause reconciles, to make up for missed events.
func isResync(e event.TypedUpdateEvent[client.Object]) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}

// reaction returns the delay from an update to the reconcile.
type reaction = func(before, after client.Object) enqueueDelay

// watch returns an event handler that enqueues the Memcacheds with the names that ownersOf returns: after a creation or a deletion with
// this delay, and after an update with the delay that the argument change returns.
func watch(
	delay enqueueDelay, change reaction, ownersOf func(client.Object) []types.NamespacedName,
) handler.TypedFuncs[client.Object, reconcile.Request] {
	return handler.TypedFuncs[client.Object, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if !e.IsInInitialList {
				enqueue(q, delay, ownersOf(e.Object)...)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if !isResync(e) {
				enqueue(q, change(e.ObjectOld, e.ObjectNew), append(ownersOf(e.ObjectNew), ownersOf(e.ObjectOld)...)...)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			enqueue(q, delay, ownersOf(e.Object)...)
		},
	}
}

// memcachedsOf returns the names of the Memcacheds that an object concerns, often the same name twice. The first are those whose child
// would have the object's name: the object may prevent the creation of that child. The last is in the object's instance label.
func memcachedsOf(object client.Object) []types.NamespacedName {
	return append(memcached.OwnersOf(object), instanceOf(object))
}

// enqueue adds each name to the queue once. It skips empty names.
func enqueue(q queue, delay enqueueDelay, names ...types.NamespacedName) {
	for i, name := range names {
		if delay != never && name.Name != "" && !slices.Contains(names[:i], name) {
			q.AddAfter(reconcile.Request{NamespacedName: name}, delay)
		}
	}
}

// instanceOf returns the name of the Memcached in an object's instance label, or an empty name.
func instanceOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[memcached.InstanceLabel]}
}

// memcachedChange is the reaction to updates of Memcacheds. A new spec causes a reconcile at once. Another status causes a reconcile after
// debounce: others may have written it.
func memcachedChange(before, after client.Object) enqueueDelay {
	old, oldOK := before.(*cachev1alpha1.Memcached)
	current, ok := after.(*cachev1alpha1.Memcached)
	switch {
	case !ok || !oldOK:
		return never
	case old.Generation != current.Generation:
		return 0
	case !equality.Semantic.DeepEqual(old.Status, current.Status):
		return debounce
	default:
		return never
	}
}

// childChange returns a reaction to updates of a child by others. A changed spec, label or owner reference causes a reconcile at
// once. So does the start of a deletion, and the end of a rollout or of scaling, because users wait for that end. Changed
// annotations, and other updates of a workload, cause a reconcile after debounce.
func childChange(child memcached.Child) reaction {
	return func(before, after client.Object) enqueueDelay {
		switch {
		case !equality.Semantic.DeepEqual(child.Spec(before), child.Spec(after)) || metadataChanged(before, after):
			return 0
		case child.Workload && !memcached.Settled(before) && memcached.Settled(after):
			return 0
		case child.Workload, !equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()):
			return debounce
		default:
			return never
		}
	}
}

// podChange returns debounce if a cached field other than the resource version has changed. Otherwise, it returns the constant never.
func podChange(before, after client.Object) enqueueDelay {
	same, _ := before.DeepCopyObject().(client.Object)
	same.SetResourceVersion(after.GetResourceVersion())
	if equality.Semantic.DeepEqual(same, after) {
		return never
	}
	return debounce
}

func metadataChanged(before, after metav1.Object) bool {
	return !equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}
