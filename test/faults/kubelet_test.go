// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
)

// images are those that memcached runs with in each pod of a StatefulSet.
type images struct {
	mutex sync.Mutex
	of    map[types.UID]string
}

var allImages = &images{of: map[types.UID]string{}}

// changed reports whether a pod has another image than memcached runs with, and lets it run with that.
func (i *images) changed(pod *corev1.Pod) bool {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	image, ran := pod.Spec.Containers[0].Image, i.of[pod.UID]
	i.of[pod.UID] = image
	return ran != "" && ran != image
}

// sync does what the kubelet does with a pod that runs: it restarts memcached with another image, and gives it other resources.
func (s *statefulSet) sync(ctx context.Context, pod *corev1.Pod) error {
	if pod.UID == "" || pod.DeletionTimestamp != nil || !podReady(pod) {
		return nil
	}
	status := corev1.ContainerStatus{Name: memcached.ContainerName, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	if found := memcached.StatusOf(pod, memcached.ContainerName); found != nil {
		status = *found.DeepCopy()
	}
	if allImages.changed(pod) {
		status.RestartCount++
	}
	status.Resources = &pod.Spec.Containers[0].Resources
	if len(pod.Status.ContainerStatuses) > 0 && equality.Semantic.DeepEqual(pod.Status.ContainerStatuses[0], status) {
		return nil
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	return s.client.Status().Update(ctx, pod)
}
