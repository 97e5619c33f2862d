// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// replacedWithin is how long the controller of a ReplicaSet or StatefulSet may take to replace a failed pod. A pod that is created
// later is not the replacement.
const replacedWithin = time.Minute

// podFailed returns why the kubelet rejected or ended a pod, or nil. A failed pod counts only while its replacement is missing or
// has not started, because Kubernetes keeps failed pods for days. The message has no pod name: it would change with each pod that
// fails.
func podFailed(w *memcached.Workload, pods []corev1.Pod, missing int32) *memcached.Problem {
	for _, pod := range lastFailed(w, pods) {
		if !missed(pod, pods, missing) {
			continue
		}
		problem := &memcached.Problem{Reason: cachev1alpha1.ReasonNodesFailed, Message: "A pod failed"}
		for _, words := range []string{pod.Status.Reason, pod.Status.Message} {
			if words != "" {
				problem.Message += ": " + words
			}
		}
		return problem
	}
	return nil
}

// lastFailed returns the latest failed pod of each ReplicaSet or StatefulSet, the latest first.
func lastFailed(w *memcached.Workload, pods []corev1.Pod) []*corev1.Pod {
	last := map[string]*corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase != corev1.PodFailed || !w.Owns(pod) {
			continue
		}
		replicaSet := metav1.GetControllerOfNoCopy(pod).Name
		if known := last[replicaSet]; known == nil || laterFailed(pod, known) < 0 {
			last[replicaSet] = pod
		}
	}
	return slices.SortedFunc(maps.Values(last), laterFailed)
}

// laterFailed orders failed pods, the latest first.
func laterFailed(a, b *corev1.Pod) int {
	if order := memcached.FailedAt(b).Compare(memcached.FailedAt(a)); order != 0 {
		return order
	}
	return strings.Compare(b.Name, a.Name)
}

// missed reports whether the replacement of a failed pod is missing or has not started. missing is how many nodes the workload
// lacks.
func missed(failed *corev1.Pod, pods []corev1.Pod, missing int32) bool {
	since, replicaSet := memcached.FailedAt(failed), metav1.GetControllerOfNoCopy(failed).Name
	for i := range pods {
		pod := &pods[i]
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Name != replicaSet || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		later := pod.CreationTimestamp.Sub(since)
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && later >= 0 && later <= replacedWithin {
			return true
		}
		if later > 0 {
			missing = 0
		}
	}
	return missing > 0
}
