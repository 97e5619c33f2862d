// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// AddAfter implements workqueue.TypedDelayingInterface.
func (a *addedTo) AddAfter(_ reconcile.Request, after time.Duration) {
	a.opts = append(a.opts, priorityqueue.AddOpts{After: after})
}

// settled is a Deployment of two pods that has done its work.
func settled(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cache", Namespace: "shop", Generation: 2, ResourceVersion: "2",
			Labels: map[string]string{memcached.InstanceLabel: "cache"},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2))},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "NewReplicaSetAvailable"}},
		},
	}
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func podOf(number int, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("cache-5d4f-%d", number), Namespace: "shop", ResourceVersion: "1",
			Labels: map[string]string{memcached.InstanceLabel: "cache", appsv1.DefaultDeploymentUniqueLabelKey: "5d4f"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "cache-5d4f", UID: "1", Controller: ptr.To(true),
			}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

// cacheOf is a Reconciler whose cache holds these objects.
func cacheOf(objects ...client.Object) *Reconciler {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	index := func(pod client.Object) []string { return []string{pod.GetLabels()[memcached.InstanceLabel]} }
	return &Reconciler{
		clock: clock, mutations: apply.NewMutationCache(clock),
		client: fake.NewClientBuilder().WithScheme(testenv.Scheme()).WithObjects(objects...).
			WithIndex(&corev1.Pod{}, instanceIndex, index).Build(),
	}
}

var (
	atOnce    = []priorityqueue.AddOpts{{Priority: ptr.To(finishedPriority)}}
	debounced = []priorityqueue.AddOpts{{After: debounce}}
)

func TestADeploymentThatHasFinishedIsLookedAtAtOnce(t *testing.T) {
	lacking := func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.ResourceVersion = 1, "1" }
	for name, c := range map[string]struct {
		before, after *appsv1.Deployment
		pods          []client.Object
		want          []priorityqueue.AddOpts
	}{
		"the last node is ready": {
			settled(lacking), settled(), []client.Object{podOf(1, corev1.ConditionTrue), podOf(2, corev1.ConditionTrue)}, atOnce,
		},
		"the cache does not know of the last pod yet": {
			settled(lacking), settled(), []client.Object{podOf(1, corev1.ConditionTrue), podOf(2, corev1.ConditionFalse)}, debounced,
		},
		"a pod of those that leave has not left": {
			settled(lacking), settled(),
			[]client.Object{podOf(1, corev1.ConditionTrue), podOf(2, corev1.ConditionTrue), podOf(3, corev1.ConditionTrue)},
			debounced,
		},
		"a node is missing still": {
			settled(lacking), settled(lacking, func(d *appsv1.Deployment) { d.ResourceVersion = "2" }),
			[]client.Object{podOf(1, corev1.ConditionTrue)},
			debounced,
		},
		"it had finished before": {
			settled(func(d *appsv1.Deployment) { d.ResourceVersion = "1" }), settled(),
			[]client.Object{podOf(1, corev1.ConditionTrue), podOf(2, corev1.ConditionTrue)},
			debounced,
		},
		"a rollout has not begun": {
			settled(lacking), settled(func(d *appsv1.Deployment) { d.Generation = 3 }),
			[]client.Object{podOf(1, corev1.ConditionTrue), podOf(2, corev1.ConditionTrue)},
			debounced,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := cacheOf(c.pods...)
			var queue addedTo
			child, _ := memcached.ChildOf(c.after)
			watch(r, r.childChange(child)).Update(t.Context(),
				event.TypedUpdateEvent[client.Object]{ObjectOld: c.before, ObjectNew: c.after}, &queue)
			if diff := cmp.Diff(c.want, queue.opts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestThePodThatSomebodyWaitsForIsLookedAtAtOnce(t *testing.T) {
	leaving := podOf(2, corev1.ConditionTrue)
	leaving.DeletionTimestamp, leaving.Finalizers = ptr.To(metav1.Now()), []string{"kubernetes.io/test"}
	for name, c := range map[string]struct {
		before, after *corev1.Pod
		deployment    *appsv1.Deployment
		others        []client.Object
		want          []priorityqueue.AddOpts
	}{
		"it is ready": {
			podOf(2, corev1.ConditionFalse), podOf(2, corev1.ConditionTrue), settled(),
			[]client.Object{podOf(1, corev1.ConditionTrue)},
			atOnce,
		},
		"it begins to leave": {
			podOf(2, corev1.ConditionTrue), leaving, settled(),
			[]client.Object{podOf(1, corev1.ConditionTrue), podOf(3, corev1.ConditionTrue)},
			atOnce,
		},
		"another one is not ready": {
			podOf(2, corev1.ConditionFalse), podOf(2, corev1.ConditionTrue), settled(),
			[]client.Object{podOf(1, corev1.ConditionFalse)},
			debounced,
		},
		"the Deployment has not been told": {
			podOf(2, corev1.ConditionFalse), podOf(2, corev1.ConditionTrue),
			settled(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }),
			[]client.Object{podOf(1, corev1.ConditionTrue)},
			debounced,
		},
		"it is no longer ready": {
			podOf(2, corev1.ConditionTrue), podOf(2, corev1.ConditionFalse), settled(),
			[]client.Object{podOf(1, corev1.ConditionTrue), podOf(3, corev1.ConditionTrue)},
			debounced,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := cacheOf(append(c.others, c.deployment, c.after.DeepCopy())...)
			c.after.ResourceVersion = "2"
			var queue addedTo
			r.pods().Update(t.Context(), event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: c.before, ObjectNew: c.after}, &queue)
			if diff := cmp.Diff(c.want, queue.opts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
