// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcached"
)

// TestTheCacheKeepsWhetherAPodIsLost expects that the cache keeps the eviction, the cluster node and the grace period, but only
// of evicted pods that are terminating.
func TestTheCacheKeepsWhetherAPodIsLost(t *testing.T) {
	evicted := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager", Message: "deleting",
		LastTransitionTime: metav1.Unix(1, 0),
	}
	kept := []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"}}
	for name, c := range map[string]struct {
		terminating bool
		status      corev1.PodStatus
		want        []corev1.PodCondition
	}{
		"one that is about to be evicted": {status: corev1.PodStatus{Conditions: []corev1.PodCondition{evicted}}},
		"one that terminates":             {terminating: true},
		"one that was evicted": {
			terminating: true, status: corev1.PodStatus{Conditions: []corev1.PodCondition{evicted}}, want: kept,
		},
		"one that was evicted and failed": {
			terminating: true, want: kept,
			status: corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{evicted}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "cache-1", Namespace: "a", UID: "1", ResourceVersion: "2", Labels: map[string]string{memcached.InstanceLabel: "cache"},
			}}
			pod.Spec.NodeName, pod.Status = "host", c.status
			if c.terminating {
				pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.Unix(3, 0)), ptr.To[int64](35)
			}
			object, err := podTransform(pod)
			if err != nil {
				t.Fatal(err)
			}
			reduced := object.(*corev1.Pod)
			want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: pod.DeletionTimestamp}}
			if c.want != nil {
				want.DeletionGracePeriodSeconds, want.Spec.NodeName = ptr.To[int64](35), "host"
			}
			got := &corev1.Pod{Spec: reduced.Spec, ObjectMeta: metav1.ObjectMeta{
				DeletionTimestamp: reduced.DeletionTimestamp, DeletionGracePeriodSeconds: reduced.DeletionGracePeriodSeconds,
			}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +kept:\n%s", diff)
			}
			if diff := cmp.Diff(c.want, reduced.Status.Conditions); diff != "" {
				t.Errorf("conditions: -want +kept:\n%s", diff)
			}
		})
	}
}
