// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// graceEnds is when the grace period of the evicted pods ends. Ten seconds later, the pods are lost.
var graceEnds = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// evictedPod returns a pod of the StatefulSet "cache" that the taint manager has evicted.
func evictedPod(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name,
		DeletionTimestamp: ptr.To(metav1.NewTime(graceEnds)), DeletionGracePeriodSeconds: ptr.To[int64](35),
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache", UID: "set", Controller: ptr.To(true)}},
	}}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse},
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"},
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func ofOwner(kind, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name = kind, name }
}

func disrupted(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions[1].Status, pod.Status.Conditions[1].Reason = status, reason
	}
}

func workloadOf[T client.Object](workload T) T {
	workload.SetName("cache")
	workload.SetOwnerReferences([]metav1.OwnerReference{{
		Kind: "Memcached", Name: "cache", UID: "cache-uid", Controller: ptr.To(true),
	}})
	return workload
}

func statefulSet(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet }

// TestLostPods covers pods in various states, and with various owners. The constants early and late are times after the end of the
// grace period: late equals lostPodMargin, and early is one second less.
func TestLostPods(t *testing.T) {
	const early, late = 9 * time.Second, 10 * time.Second
	lost := []string{"cache-1"}
	for name, c := range map[string]struct {
		after    time.Duration
		mc       func(*cachev1alpha1.Memcached)
		pod      func(*corev1.Pod)
		children []client.Object
		want     []string
		next     time.Duration
	}{
		"one that has exceeded its grace period":     {after: late, want: lost},
		"one that may still be ended by its kubelet": {after: early, next: time.Second},
		"one whose grace period has just begun":      {after: -35 * time.Second, next: 45 * time.Second},
		"one that runs":                              {after: late, pod: func(p *corev1.Pod) { p.DeletionTimestamp = nil }},
		"one that somebody deleted":                  {after: late, pod: func(p *corev1.Pod) { p.Status.Conditions = nil }},
		"one that a drain evicted":                   {after: late, pod: disrupted(corev1.ConditionTrue, "EvictionByEvictionAPI")},
		"one that was not evicted after all":         {after: late, pod: disrupted(corev1.ConditionFalse, "DeletionByTaintManager")},
		"one that only a finalizer keeps":            {after: late, pod: func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = ptr.To[int64](0) }},
		"one that failed":                            {after: late, pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, want: lost},
		"one of an earlier StatefulSet of the name":  {after: late, pod: func(p *corev1.Pod) { p.OwnerReferences[0].UID = "earlier" }, want: lost},
		"one of another StatefulSet":                 {after: late, pod: ofOwner("StatefulSet", "other")},
		"one of another Kind":                        {after: late, pod: ofOwner("Job", "cache")},
		"one of nobody":                              {after: late, pod: func(p *corev1.Pod) { p.OwnerReferences = nil }},
		"one of a Deployment": {
			after: late, mc: func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = "" },
			pod: func(p *corev1.Pod) {
				ofOwner("ReplicaSet", "cache-f")(p)
				p.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "f"}
			},
			children: []client.Object{workloadOf(&appsv1.Deployment{})},
		},
		"one of a StatefulSet that is gone": {after: late, children: []client.Object{&corev1.Service{}}},
		"one of a StatefulSet of somebody else": {
			after: late, children: []client.Object{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "cache"}}},
		},
		"one of a paused Memcached": {after: late, mc: memcachedtest.Paused},
		"one of a Memcached that is being deleted": {
			after: late, mc: func(mc *cachev1alpha1.Memcached) { mc.DeletionTimestamp = ptr.To(metav1.NewTime(graceEnds)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, statefulSet)
			if c.mc != nil {
				c.mc(mc)
			}
			pod := evictedPod("cache-1")
			if c.pod != nil {
				c.pod(&pod)
			}
			observed := memcached.Observed{Children: c.children, Pods: []corev1.Pod{pod}}
			if observed.Children == nil {
				observed.Children = []client.Object{workloadOf(&appsv1.StatefulSet{})}
			}
			expectLost(t, mc, observed, graceEnds.Add(c.after), c.want, c.next)
		})
	}
}

// TestLostPodsOneAfterTheOther covers pods whose grace periods end at different times. After each check, it moves the clock
// forward by the time that LostPods returns.
func TestLostPodsOneAfterTheOther(t *testing.T) {
	mc, clock := memcachedtest.Cache(4, statefulSet), clocktesting.NewFakePassiveClock(graceEnds)
	later := func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(graceEnds.Add(time.Minute))) }
	runs := func(p *corev1.Pod) { p.DeletionTimestamp, p.Status.Conditions = nil, nil }
	observed := memcached.Observed{
		Children: []client.Object{workloadOf(&appsv1.StatefulSet{})},
		Pods: []corev1.Pod{
			evictedPod("cache-0", later), evictedPod("cache-1"), evictedPod("cache-2", later), evictedPod("cache-3", runs),
		},
	}
	for _, step := range []struct {
		want []string
		next time.Duration
	}{
		{nil, 10 * time.Second},
		{[]string{"cache-1"}, time.Minute},
		{[]string{"cache-0", "cache-1", "cache-2"}, 0},
	} {
		expectLost(t, mc, observed, clock.Now(), step.want, step.next)
		clock.SetTime(clock.Now().Add(step.next))
	}
}

func expectLost(
	t *testing.T, mc *cachev1alpha1.Memcached, observed memcached.Observed, now time.Time, want []string, next time.Duration,
) {
	t.Helper()
	lost, wait := memcached.NewView(mc, observed, now).LostPods()
	var names []string
	for _, pod := range lost {
		names = append(names, pod.Name)
	}
	if !slices.Equal(names, want) || wait != next {
		t.Errorf("lost: %v, and the next one after %s; want %v and %s", names, wait, want, next)
	}
}
