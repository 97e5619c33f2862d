// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// addedTo is a queue that records the requests and their options.
type addedTo struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	opts  []priorityqueue.AddOpts
	names []string
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (a *addedTo) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	a.opts = append(a.opts, opts)
	for _, request := range requests {
		a.names = append(a.names, request.Name)
	}
}

// Add implements workqueue.TypedInterface.
func (a *addedTo) Add(request reconcile.Request) { a.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (a *addedTo) AddAfter(request reconcile.Request, after time.Duration) {
	a.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

func TestWhatExistsAtTheStartComesLast(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache"}}
	for initial, want := range map[bool]priorityqueue.AddOpts{true: {Priority: ptr.To(handler.LowPriority)}, false: {}} {
		var queue addedTo
		create := event.TypedCreateEvent[client.Object]{Object: mc, IsInInitialList: initial}
		watching().memcacheds().Create(t.Context(), create, &queue)
		if diff := cmp.Diff([]priorityqueue.AddOpts{want}, queue.opts); diff != "" {
			t.Errorf("in the initial list: %t: -want +got:\n%s", initial, diff)
		}
	}
}

// A resync repeats all objects. So does an informer after an interrupted watch.
func TestAResyncReconcilesMemcachedsOnceWithLowPriority(t *testing.T) {
	mc, deployment := &cachev1alpha1.Memcached{}, &appsv1.Deployment{}
	r := watching()
	var queue addedTo
	r.memcacheds().Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: mc, ObjectNew: mc}, &queue)
	watch(0, childChange(rowOf(deployment)), memcachedsOf).Update(t.Context(),
		event.TypedUpdateEvent[client.Object]{ObjectOld: deployment, ObjectNew: deployment}, &queue)
	if diff := cmp.Diff([]priorityqueue.AddOpts{{Priority: ptr.To(handler.LowPriority)}}, queue.opts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatFailedComesAfterNewWork(t *testing.T) {
	for _, failure := range []error{nil, errors.New("refused")} {
		inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, failure
		})
		result, err := retryingLater(inner).Reconcile(t.Context(), reconcile.Request{})
		if !errors.Is(err, failure) {
			t.Errorf("the error is %v, not %v", err, failure)
		}
		if priority := ptr.Deref(result.Priority, 0); (priority < 0) != (failure != nil) {
			t.Errorf("after the error %v, the priority is %d", failure, priority)
		}
	}
}

func TestACompletedRolloutIsReportedAtOnce(t *testing.T) {
	complete := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "shop", Generation: 2, ResourceVersion: "2"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(2))},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "NewReplicaSetAvailable"}},
		},
	}
	with := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		changed := complete.DeepCopy()
		changed.ResourceVersion = "1"
		change(changed)
		return changed
	}
	one := with(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 })
	for name, test := range map[string]struct {
		before, after *appsv1.Deployment
		want          enqueueDelay
	}{
		"the last node is ready": {one, complete, 0},
		"the first node is ready": {
			with(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 0 }), one, debounce,
		},
		"the last node of those that leave has left": {
			with(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), complete, 0,
		},
		"it was complete before": {
			with(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }), complete, debounce,
		},
		"a rollout has not begun": {one, with(func(d *appsv1.Deployment) { d.Generation = 3 }), debounce},
	} {
		t.Run(name, func(t *testing.T) {
			if delay := childChange(rowOf(test.after))(test.before, test.after); delay != test.want {
				t.Errorf("it is reconciled after %s, not %s", delay, test.want)
			}
		})
	}
}

// rowOf returns the first row of the object's Kind.
func rowOf(object client.Object) memcached.Child {
	return memcached.Children[slices.IndexFunc(memcached.Children, func(child memcached.Child) bool {
		return reflect.TypeOf(child.New()) == reflect.TypeOf(object)
	})]
}

// watching returns a Reconciler with only what event handlers need.
func watching() *Reconciler {
	return &Reconciler{Client: fake.NewClientBuilder().WithScheme(testenv.Scheme()).Build()}
}

// TestBothMemcachedsOfAnObjectAreReconciled updates objects, and in some cases their instance label. The name of an object and its
// label may belong to two Memcacheds, to a single one, or to none.
func TestBothMemcachedsOfAnObjectAreReconciled(t *testing.T) {
	metadata := func(name, instance string) metav1.ObjectMeta {
		labels := map[string]string{memcached.InstanceLabel: instance}
		return metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: "1", Labels: labels}
	}
	for name, test := range map[string]struct {
		before client.Object
		// later is the label after the change.
		later string
		want  []string
	}{
		"a Service": {
			&corev1.Service{ObjectMeta: metadata("cache-other", "cache")}, "another", []string{"cache-other", "another", "cache"},
		},
		"a Service with the name of the nodes of one": {
			&corev1.Service{ObjectMeta: metadata("cache-nodes", "cache-nodes")}, "cache-nodes", []string{"cache", "cache-nodes"},
		},
		"a Service of the Memcached of its name": {&corev1.Service{ObjectMeta: metadata("cache", "cache")}, "cache", []string{"cache"}},
		"a ConfigMap": {
			&corev1.ConfigMap{ObjectMeta: metadata("other-servers", "cache")}, "another", []string{"other", "another", "cache"},
		},
		"a ConfigMap of the Memcached that its name begins with": {
			&corev1.ConfigMap{ObjectMeta: metadata("cache-servers", "cache")}, "cache", []string{"cache"},
		},
		"a ConfigMap of a name that no Memcached wants": {
			&corev1.ConfigMap{ObjectMeta: metadata("cache", "other")}, "other", []string{"other"},
		},
		"a ConfigMap without the suffix and the label": {&corev1.ConfigMap{ObjectMeta: metadata("cache", "")}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			after, _ := test.before.DeepCopyObject().(client.Object)
			after.SetResourceVersion("2")
			after.SetLabels(map[string]string{memcached.InstanceLabel: test.later, "changed": "yes"})
			var queue addedTo
			update := event.TypedUpdateEvent[client.Object]{ObjectOld: test.before, ObjectNew: after}
			watch(0, childChange(rowOf(test.before)), memcachedsOf).Update(t.Context(), update, &queue)
			if !slices.Equal(queue.names, test.want) {
				t.Errorf("%v are reconciled, not %v", queue.names, test.want)
			}
		})
	}
}

// TestBackoff checks that the operator notices within a minute that a failure is over.
func TestBackoff(t *testing.T) {
	limiter, request := RateLimiter(), reconcile.Request{}
	if first := limiter.When(request); first > 10*time.Millisecond {
		t.Errorf("the first retry comes after %s", first)
	}
	var last time.Duration
	for range 100 {
		last = limiter.When(request)
	}
	if last < 30*time.Second || last > 50*time.Second {
		t.Errorf("after many failures a retry comes after %s", last)
	}
}
