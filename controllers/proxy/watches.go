// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// debounce is how long after an event of a pod or of the Deployment's status the controller reconciles: a rollout has many of them.
const debounce = 500 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type handlerFuncs = handler.TypedFuncs[client.Object, reconcile.Request]

func enqueue(q queue, delay time.Duration, names ...types.NamespacedName) {
	for i, name := range names {
		if name.Name != "" && !slices.Contains(names[:i], name) {
			q.AddAfter(reconcile.Request{NamespacedName: name}, delay)
		}
	}
}

// proxies wakes the controller for each MemcachedProxy when it starts, at each resync, and when a spec changes.
func (r *Reconciler) proxies() handlerFuncs {
	return handlerFuncs{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			r.mutations.ObserveEvent(e.Object)
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			own, name := r.mutations.ObserveEvent(e.ObjectNew), client.ObjectKeyFromObject(e.ObjectNew)
			before, beforeOK := e.ObjectOld.(*cachev1alpha1.MemcachedProxy)
			after, afterOK := e.ObjectNew.(*cachev1alpha1.MemcachedProxy)
			switch {
			case e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion(): // a resync
				q.Add(reconcile.Request{NamespacedName: name})
			case !beforeOK || !afterOK:
			case before.Generation != after.Generation:
				enqueue(q, 0, name)
			case !own && !equality.Semantic.DeepEqual(before.Status, after.Status):
				enqueue(q, debounce, name)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			r.mutations.ObserveDelete(e.Object)
			enqueue(q, 0, client.ObjectKeyFromObject(e.Object))
		},
	}
}

// memcacheds wakes the controller for the MemcachedProxies that lead to a Memcached, or bear its name, when what counts of it changes.
func (r *Reconciler) memcacheds() handlerFuncs {
	wake := func(ctx context.Context, object client.Object, q queue) {
		var found cachev1alpha1.MemcachedProxyList
		name := client.ObjectKeyFromObject(object)
		names := []types.NamespacedName{name}
		// It reads the cache, which fails only while the process ends.
		if r.client.List(ctx, &found, client.InNamespace(name.Namespace), client.MatchingFields{poolIndex: name.Name}) == nil {
			for i := range found.Items {
				names = append(names, client.ObjectKeyFromObject(&found.Items[i]))
			}
		}
		enqueue(q, 0, names...)
	}
	return handlerFuncs{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if !e.IsInInitialList { // each MemcachedProxy is reconciled then
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

// children wakes the controller when others change the objects of a MemcachedProxy, and when its Deployment makes progress.
func (r *Reconciler) children(child memcached.Child[*cachev1alpha1.MemcachedProxy]) handlerFuncs {
	return handlerFuncs{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if !r.mutations.ObserveEvent(e.Object) && !e.IsInInitialList {
				enqueue(q, 0, proxiesOf(child, e.Object)...)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			own, before, after := r.mutations.ObserveEvent(e.ObjectNew), e.ObjectOld, e.ObjectNew
			names := append(proxiesOf(child, after), proxiesOf(child, before)...)
			switch {
			case own || before.GetResourceVersion() == after.GetResourceVersion():
			case !equality.Semantic.DeepEqual(child.Spec(before), child.Spec(after)) || metadataChanged(before, after),
				child.Workload && !memcached.Settled(before) && memcached.Settled(after):
				enqueue(q, 0, names...)
			case child.Workload, !equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()):
				enqueue(q, debounce, names...)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			r.mutations.ObserveDelete(e.Object)
			enqueue(q, 0, proxiesOf(child, e.Object)...)
		},
	}
}

func metadataChanged(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}

// proxiesOf are the MemcachedProxies that an object is about: the one of its labels, and the one whose child has its name.
func proxiesOf(child memcached.Child[*cachev1alpha1.MemcachedProxy], object client.Object) []types.NamespacedName {
	return []types.NamespacedName{instanceOf(object), child.OwnerOf(client.ObjectKeyFromObject(object))}
}

// instanceOf is the MemcachedProxy of an object's labels. The name is empty if it is that of something else.
func instanceOf(object client.Object) types.NamespacedName {
	if object.GetLabels()[memcached.NameLabel] != memcachedproxy.Name {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[memcached.InstanceLabel]}
}

// pods wakes the controller when pods come, change and go.
func pods() handler.TypedFuncs[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if !e.IsInInitialList {
				enqueue(q, debounce, instanceOf(e.Object))
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			same := e.ObjectOld.DeepCopy()
			same.ResourceVersion = e.ObjectNew.ResourceVersion
			if !equality.Semantic.DeepEqual(same, e.ObjectNew) {
				enqueue(q, debounce, instanceOf(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			enqueue(q, debounce, instanceOf(e.Object))
		},
	}
}
