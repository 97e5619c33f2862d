// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Settled reports whether the Deployment controller has carried out what the spec of a Deployment says, so that the last
// of its pods became ready or left a moment ago.
func Settled(deployment *appsv1.Deployment) bool {
	status, size := deployment.Status, ptr.Deref(deployment.Spec.Replicas, 1)
	return deployment.Generation == status.ObservedGeneration && progressReason(deployment) == rolloutComplete &&
		status.Replicas == size && status.UpdatedReplicas == size && status.ReadyReplicas == size
}

// AllReady reports whether a Deployment has exactly the pods that its spec says, and all of them are ready.
func AllReady(deployment *appsv1.Deployment, pods []corev1.Pod) bool {
	nodes := nodes(deployment, pods)
	for _, pod := range nodes {
		if !podReady(pod) {
			return false
		}
	}
	return len(nodes) == int(ptr.Deref(deployment.Spec.Replicas, 1))
}

// JoinsOrLeaves reports whether a pod has just become ready, or begun to leave: it may be the last one that somebody waits for.
func JoinsOrLeaves(before, after *corev1.Pod) bool {
	return podReady(after) && !podReady(before) || before.DeletionTimestamp == nil && after.DeletionTimestamp != nil
}
