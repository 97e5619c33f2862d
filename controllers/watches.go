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
	"github.com/example/memcached-operator/internal/memcached"
)

// debounce is how long after the first event of a pod or of a workload's status the controller reconciles: a rollout has many of
// them, and the user needs few statuses.
const debounce = 500 * time.Millisecond

// failedPriority is the priority of what failed: below that of new work, above that of what exists at the start.
const failedPriority = -10

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueDelay is how long after an event the controller reconciles: 0 for at once.
type enqueueDelay = time.Duration

const never enqueueDelay = -1

// memcacheds wakes the controller. It has to reconcile each Memcached when it starts, and at each resync: handler.TypedFuncs gives
// these a low priority. Those with a user who waits have a normal one.
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
		if isResync(e) {
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

// pods wakes the controller when pods come, change and go.
func pods() handler.TypedFuncs[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if !e.IsInInitialList {
				enqueue(q, instanceOf(e.Object), debounce)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			enqueue(q, instanceOf(e.ObjectNew), podChange(e.ObjectOld, e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			enqueue(q, instanceOf(e.Object), debounce)
		},
	}
}

// isResync reports whether nothing has happened: the cache repeats what it holds from time to time, and after each interruption
// of a watch. That of the Memcacheds is enough to correct whatever was missed.
func isResync(e event.TypedUpdateEvent[client.Object]) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}

// watch enqueues the Memcacheds of an object that this process writes: for creations and deletions at once, for updates with the
// delay of change, whose own says that the update is what this process wrote last.
func watch(
	r *Reconciler, change func(before, after client.Object, own bool) enqueueDelay,
) handler.TypedFuncs[client.Object, reconcile.Request] {
	return handler.TypedFuncs[client.Object, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if !r.mutations.ObserveEvent(e.Object) && !e.IsInInitialList {
				enqueueAll(q, 0, e.Object)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if delay := change(e.ObjectOld, e.ObjectNew, r.mutations.ObserveEvent(e.ObjectNew)); !isResync(e) {
				enqueueAll(q, delay, e.ObjectNew, e.ObjectOld)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			r.mutations.ObserveDelete(e.Object)
			enqueueAll(q, 0, e.Object)
		},
	}
}

// enqueueAll enqueues the Memcacheds that versions of an object are about: the one whose child has its name, which it may be in
// the way of, and the one of its instance label.
func enqueueAll(q queue, delay enqueueDelay, versions ...client.Object) {
	names := []types.NamespacedName{namesakeOf(versions[0])}
	for _, version := range versions {
		names = append(names, instanceOf(version))
	}
	for i, name := range names {
		if name.Name != "" && !slices.Contains(names[:i], name) {
			enqueue(q, name, delay)
		}
	}
}

// namesakeOf is the Memcached that has the name of an object, or whose child has it. The name is empty if none has.
func namesakeOf(object client.Object) types.NamespacedName {
	name := client.ObjectKeyFromObject(object)
	if child, ok := memcached.ChildOf(object); ok {
		return child.MemcachedOf(name)
	}
	return name // it is a Memcached
}

func enqueue(q queue, name types.NamespacedName, delay enqueueDelay) {
	if delay != never {
		q.AddAfter(reconcile.Request{NamespacedName: name}, delay)
	}
}

// instanceOf is the Memcached of an object's instance label.
func instanceOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[memcached.InstanceLabel]}
}

// memcachedChange reacts to a new spec, which may come with a status of our own, and to a status that somebody else has written.
// The latter can wait: one of our own looks the same until its answer has come.
func memcachedChange(before, after client.Object, own bool) enqueueDelay {
	old, oldOK := before.(*cachev1alpha1.Memcached)
	mc, ok := after.(*cachev1alpha1.Memcached)
	switch {
	case !ok || !oldOK:
		return never
	case old.Generation != mc.Generation:
		return 0
	case !own && !equality.Semantic.DeepEqual(old.Status, mc.Status):
		return debounce
	default:
		return never
	}
}

// childChange returns the reaction to updates of a child. A new spec and new metadata are handled at once, unless they are our
// own. Annotations can wait: they have no effect that would be ours to keep, but the hash among them may be lost. The status of a
// workload can wait as well, unless it has just completed a rollout or reached its size: users wait for that.
func childChange(child memcached.Child) func(before, after client.Object, own bool) enqueueDelay {
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

// podChange compares what the cache keeps of a pod.
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
