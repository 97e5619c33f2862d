// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// debounce is how long after the first event of a pod or of a Deployment's status the controller looks: a rollout has many
// of them, and the user needs few statuses.
const debounce = 500 * time.Millisecond

// looksPerSecond is how many Memcacheds that nobody waits for the controller looks at in a second when the process begins, and at
// a resync. A look takes some two milliseconds of CPU, which those that somebody waits for need, and the API server that they wait for.
const looksPerSecond = 200

// After the process has begun, those that somebody waits for have the machine nearly for themselves: the others come so many
// a second for so long.
const (
	firstLooksPerSecond = 20
	firstLooks          = 3 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// urgency is when an event is to be looked at: 0 for at once.
type urgency = time.Duration

const (
	never urgency = -1
	// finished is at once, and before those that begin something: what somebody waits for is there, and need only be told.
	finished urgency = -2
)

const finishedPriority = 1

// sources are what wakes the controller. When it begins to work, its caches are full, so what it is told of all Memcacheds
// that there are is enough: of what else there is, it need not be told.
func (r *Reconciler) sources(c cache.Cache) []source.Source {
	return []source.Source{
		source.Kind(c, &cachev1alpha1.Memcached{}, r.memcacheds()),
		source.Kind(c, &appsv1.Deployment{}, watch(r, r.deploymentChange)),
		source.Kind(c, &corev1.Service{}, watch(r, serviceChange)),
		source.Kind(c, &policyv1.PodDisruptionBudget{}, watch(r, budgetChange)),
		source.Kind(c, &corev1.Pod{}, r.pods()),
	}
}

// pods wakes the controller when pods come, change and go.
func (r *Reconciler) pods() handler.TypedFuncs[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if !e.IsInInitialList {
				enqueue(q, instanceOf(e.Object), debounce)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			when := podChange(e.ObjectOld, e.ObjectNew)
			if when == debounce && memcached.JoinsOrLeaves(e.ObjectOld, e.ObjectNew) && r.finished(ctx, instanceOf(e.ObjectNew)) {
				when = finished
			}
			enqueue(q, instanceOf(e.ObjectNew), when)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			enqueue(q, instanceOf(e.Object), debounce)
		},
	}
}

// resync says whether nothing has happened: the cache tells what it holds from time to time, and after each interruption of a
// watch. That of the Memcacheds is enough to mend whatever was missed.
func resync[T client.Object](e event.TypedUpdateEvent[T]) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}

// watch enqueues the Memcached of an object that this process writes: for creations and deletions at once, for changes with
// the given urgency. Own says that the change is what this process wrote last. The objects bear the name of their
// Memcached, and one that bears the name and belongs to somebody else is in its way.
func watch[T client.Object](
	r *Reconciler, change func(before, after T, own bool) urgency,
) handler.TypedFuncs[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) {
			if !r.mutations.ObserveEvent(e.Object) && !e.IsInInitialList {
				enqueue(q, client.ObjectKeyFromObject(e.Object), 0)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) {
			if when := change(e.ObjectOld, e.ObjectNew, r.mutations.ObserveEvent(e.ObjectNew)); !resync(e) {
				enqueue(q, client.ObjectKeyFromObject(e.ObjectNew), when)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q queue) {
			r.mutations.ObserveDelete(e.Object)
			enqueue(q, client.ObjectKeyFromObject(e.Object), 0)
		},
	}
}

// memcacheds wakes the controller. Those that exist when the process begins, and those of a resync, come one after the other
// and after everything else, unless somebody waits.
func (r *Reconciler) memcacheds() handler.TypedFuncs[*cachev1alpha1.Memcached, reconcile.Request] {
	funcs := watch(r, memcachedChange)
	created, updated := funcs.CreateFunc, funcs.UpdateFunc
	looks, first := rate.NewLimiter(looksPerSecond, 1), rate.NewLimiter(firstLooksPerSecond, 1)
	later := func(mc *cachev1alpha1.Memcached, q queue, begins bool) {
		now := r.clock.Now()
		delay := looks.ReserveN(now, 1).DelayFrom(now)
		if begins {
			delay = min(first.ReserveN(now, 1).DelayFrom(now), firstLooks+delay)
		}
		enqueue(q, client.ObjectKeyFromObject(mc), delay)
	}
	funcs.CreateFunc = func(ctx context.Context, e event.TypedCreateEvent[*cachev1alpha1.Memcached], q queue) {
		prioritized, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
		switch {
		case !e.IsInInitialList:
			created(ctx, e, q)
		case !awaited(e.Object):
			later(e.Object, q, true)
		case ok:
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
			prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(0)}, request)
		default:
			enqueue(q, client.ObjectKeyFromObject(e.Object), 0)
		}
	}
	funcs.UpdateFunc = func(ctx context.Context, e event.TypedUpdateEvent[*cachev1alpha1.Memcached], q queue) {
		if resync(e) {
			later(e.ObjectNew, q, false)
			return
		}
		updated(ctx, e, q)
	}
	return funcs
}

// awaited says whether somebody waits for the operator: what the user wants has changed since the status was written, or the
// Memcached is not Ready.
func awaited(mc *cachev1alpha1.Memcached) bool {
	told := mc.Status.Conditions
	return mc.Generation != mc.Status.ObservedGeneration ||
		memcached.Paused(mc) != (progress(told) == cachev1alpha1.ReasonPaused) ||
		!meta.IsStatusConditionTrue(told, cachev1alpha1.ConditionReady)
}

func enqueue(q queue, name types.NamespacedName, when urgency) {
	switch request := (reconcile.Request{NamespacedName: name}); when {
	case never:
	case finished:
		if prioritized, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(finishedPriority)}, request)
			return
		}
		q.Add(request)
	case 0:
		q.Add(request)
	default:
		q.AddAfter(request, when)
	}
}

func instanceOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel]}
}

// memcachedChange reacts to a new spec, which may come with an own write of the status, to the pause annotation, and to a
// status that somebody else has written. The latter can wait: an own one looks the same until its answer has come.
func memcachedChange(before, after *cachev1alpha1.Memcached, own bool) urgency {
	switch {
	case before.Generation != after.Generation || memcached.Paused(before) != memcached.Paused(after):
		return 0
	case !own && !equality.Semantic.DeepEqual(before.Status, after.Status):
		return debounce
	default:
		return never
	}
}

// deploymentChange is that of the function of this name, unless the Deployment has just finished its work.
func (r *Reconciler) deploymentChange(before, after *appsv1.Deployment, own bool) urgency {
	when := deploymentChange(before, after, own)
	if when == debounce && !memcached.Settled(before) && memcached.Settled(after) && r.allReady(context.Background(), after) {
		return finished
	}
	return when
}

// finished says whether the Deployment of a Memcached has done its work, and its pods are ready. It reads from the cache.
func (r *Reconciler) finished(ctx context.Context, name types.NamespacedName) bool {
	deployment := &appsv1.Deployment{}
	err := r.client.Get(ctx, name, deployment)
	return err == nil && memcached.Settled(deployment) && r.allReady(ctx, deployment)
}

func (r *Reconciler) allReady(ctx context.Context, deployment *appsv1.Deployment) bool {
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(deployment.Namespace),
		client.MatchingFields{instanceIndex: deployment.Name}, client.UnsafeDisableDeepCopy)
	return err == nil && memcached.AllReady(deployment, pods.Items)
}

// deploymentChange does not look at the generation: the Deployment controller annotates, and annotations count there.
func deploymentChange(before, after *appsv1.Deployment, own bool) urgency {
	if own {
		return never
	}
	if !equality.Semantic.DeepEqual(before.Spec, after.Spec) || metadataChanged(before, after) {
		return 0
	}
	return debounce
}

func serviceChange(before, after *corev1.Service, own bool) urgency {
	return childChange(before, after, equality.Semantic.DeepEqual(before.Spec, after.Spec), own)
}

func budgetChange(before, after *policyv1.PodDisruptionBudget, own bool) urgency {
	return childChange(before, after, before.Generation == after.Generation, own)
}

// childChange reacts to a spec and to metadata. Annotations can wait: they have no effect that would be ours to keep, but
// the hash among them may be lost.
func childChange(before, after metav1.Object, sameSpec, own bool) urgency {
	switch {
	case own:
		return never
	case !sameSpec || metadataChanged(before, after):
		return 0
	case !equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()):
		return debounce
	default:
		return never
	}
}

// podChange compares what the cache keeps of a pod.
func podChange(before, after *corev1.Pod) urgency {
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
