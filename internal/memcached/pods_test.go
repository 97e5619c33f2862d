// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestLostIn covers pods at times after the end of their grace period: late equals lostPodMargin, and early is one second less.
func TestLostIn(t *testing.T) {
	const early, late, never = 9 * time.Second, 10 * time.Second, -1
	disrupted := func(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions[1].Status, pod.Status.Conditions[1].Reason = status, reason
		}
	}
	graceEnds := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after time.Duration
		pod   func(*corev1.Pod)
		want  time.Duration
	}{
		"one that has exceeded its grace period":     {late, nil, 0},
		"one that may still be ended by its kubelet": {early, nil, time.Second},
		"one whose grace period has just begun":      {-35 * time.Second, nil, 45 * time.Second},
		"one that runs":                              {late, func(p *corev1.Pod) { p.DeletionTimestamp = nil }, never},
		"one that somebody deleted":                  {late, func(p *corev1.Pod) { p.Status.Conditions = nil }, never},
		"one that a drain evicted":                   {late, disrupted(corev1.ConditionTrue, "EvictionByEvictionAPI"), never},
		"one that was not evicted after all":         {late, disrupted(corev1.ConditionFalse, "DeletionByTaintManager"), never},
		"one that only a finalizer keeps":            {late, func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = ptr.To[int64](0) }, never},
		"one that failed":                            {late, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, 0},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			DeletionTimestamp: ptr.To(metav1.NewTime(graceEnds)), DeletionGracePeriodSeconds: ptr.To[int64](35),
		}}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"},
		}
		if c.pod != nil {
			c.pod(pod)
		}
		if wait, found := LostIn(pod, graceEnds.Add(c.after)); found != (c.want != never) || found && wait != c.want {
			t.Errorf("%s is lost in %s: %t", name, wait, found)
		}
	}
}
