// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// debounce is the delay between the first event of a pod, or of a workload's status, and the reconcile. A rollout causes many
// events, and users need few statuses.
const debounce = 500 * time.Millisecond

// failedPriority is the priority of retries: below new work, above the initial list.
const failedPriority = -10

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueDelay is how long after an event the controller reconciles: 0 for at once.
type enqueueDelay = time.Duration

const never enqueueDelay = -1

// memcacheds returns the event source for Memcacheds. The initial list and resyncs have a low priority (handler.TypedFuncs), unless
// a user waits for the result.
func (r *Reconciler) memcacheds() handler.TypedFuncs[client.Object, reconcile.Request] {
	funcs := watch(r, memcachedChange)
	created, updated, deleted := funcs.CreateFunc, funcs.UpdateFunc, funcs.DeleteFunc
	funcs.DeleteFunc = func(ctx context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
		deleted(ctx, e, q)
		r.wakeTwins(ctx, q, e.Object)
	}
	funcs.CreateFunc = func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
		prioritized, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
		switch {
		case !e.IsInInitialList:
			created(ctx, e, q)
			r.wakeTwins(ctx, q, e.Object)
		case ok && needsPrompt(e.Object):
			prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(0)}, request)
		default:
			q.Add(request)
		}
	}
	funcs.UpdateFunc = func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
		if IsResync(e) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
			return
		}
		updated(ctx, e, q)
		if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
			r.wakeTwins(ctx, q, e.ObjectNew, e.ObjectOld)
		}
	}
	return funcs
}

// needsPrompt reports whether a user waits for the operator: the spec has changed since the status was written, or the Memcached is
// not Ready.
func needsPrompt(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && (mc.Generation != mc.Status.ObservedGeneration ||
		!meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady))
}

// Pods wakes the controller when pods come, change and go. InstanceOf is the name of what a pod belongs to, or an empty name.
func Pods(instanceOf func(client.Object) types.NamespacedName) handler.TypedFuncs[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if !e.IsInInitialList {
				Enqueue(q, debounce, instanceOf(e.Object))
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			Enqueue(q, podChange(e.ObjectOld, e.ObjectNew), instanceOf(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			Enqueue(q, debounce, instanceOf(e.Object))
		},
	}
}

// IsResync reports whether an update repeats what the cache holds, as periodic resyncs and interrupted watches do. Only that
// of the owner leads to a reconcile, which corrects what was missed.
func IsResync(e event.TypedUpdateEvent[client.Object]) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}

// Reaction is how long after an update the controller reconciles. Own reports that it is this process's last write.
type Reaction = func(before, after client.Object, own bool) enqueueDelay

// Watch returns an event source for owners and children: creations and deletions are handled at once, updates after the delay that
// change returns. OwnersOf returns the names of the owners that an object may concern.
func Watch(
	mutations *apply.MutationCache, change Reaction, ownersOf func(client.Object) []types.NamespacedName,
) handler.TypedFuncs[client.Object, reconcile.Request] {
	return handler.TypedFuncs[client.Object, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if !mutations.ObserveEvent(e.Object) && !e.IsInInitialList {
				Enqueue(q, 0, ownersOf(e.Object)...)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if delay := change(e.ObjectOld, e.ObjectNew, mutations.ObserveEvent(e.ObjectNew)); !IsResync(e) {
				Enqueue(q, delay, append(ownersOf(e.ObjectNew), ownersOf(e.ObjectOld)...)...)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			mutations.ObserveDelete(e.Object)
			Enqueue(q, 0, ownersOf(e.Object)...)
		},
	}
}

func watch(r *Reconciler, change Reaction) handler.TypedFuncs[client.Object, reconcile.Request] {
	return Watch(r.Mutations, change, memcachedsOf)
}

// memcachedsOf returns the Memcacheds that an object may concern: the one whose child has its name, which it may block, and the one in
// its instance label.
func memcachedsOf(object client.Object) []types.NamespacedName {
	return []types.NamespacedName{namesakeOf(object), instanceOf(object)}
}

// namesakeOf returns the Memcached whose child has the name of an object, or an empty name.
func namesakeOf(object client.Object) types.NamespacedName {
	name := client.ObjectKeyFromObject(object)
	if child, ok := memcached.ChildOf(object); ok {
		return child.OwnerOf(name)
	}
	return name // it is a Memcached
}

// Enqueue adds each name to the queue once, and skips empty ones.
func Enqueue(q queue, delay enqueueDelay, names ...types.NamespacedName) {
	for i, name := range names {
		if delay != never && name.Name != "" && !slices.Contains(names[:i], name) {
			q.AddAfter(reconcile.Request{NamespacedName: name}, delay)
		}
	}
}

// instanceOf is the Memcached of an object's instance label.
func instanceOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[memcached.InstanceLabel]}
}

// memcachedChange is the change of a Memcached.
var memcachedChange = OwnerChange(func(mc *cachev1alpha1.Memcached) any { return mc.Status })

// OwnerChange handles a new spec at once, even if it comes together with a status of our own. A status that somebody else wrote can
// wait: until the API server's answer arrives, our own looks the same.
func OwnerChange[Owner client.Object](status func(Owner) any) Reaction {
	return func(before, after client.Object, own bool) enqueueDelay {
		old, oldOK := before.(Owner)
		current, ok := after.(Owner)
		switch {
		case !ok || !oldOK:
			return never
		case old.GetGeneration() != current.GetGeneration():
			return 0
		case !own && !equality.Semantic.DeepEqual(status(old), status(current)):
			return debounce
		default:
			return never
		}
	}
}

// ChildChange returns how to react to updates of a child. A foreign change of its spec or metadata is handled at once. Annotations
// can wait: only the hash among them matters to us. The status of a workload can wait too, unless a rollout completed or the size
// was reached, for which users wait.
func ChildChange[Owner client.Object](child memcached.Child[Owner]) Reaction {
	return func(before, after client.Object, own bool) enqueueDelay {
		switch {
		case own:
			return never
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

// podChange returns never if nothing but the version has changed of what the cache keeps of a pod.
func podChange(before, after *corev1.Pod) enqueueDelay {
	if before.ResourceVersion == after.ResourceVersion {
		return never
	}
	same := before.DeepCopy()
	same.ResourceVersion = after.ResourceVersion
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
