// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// transformObject removes managed fields before the cache stores an object. From Memcacheds and MemcachedProxies, it also removes the
// labels and annotations, which the operator does not read: annotations may take 256 KiB.
func transformObject(object any) (any, error) {
	switch owner := object.(type) {
	case *cachev1alpha1.Memcached:
		owner.Labels, owner.Annotations = nil, nil
	case *cachev1alpha1.MemcachedProxy:
		owner.Labels, owner.Annotations = nil, nil
	}
	return cache.TransformStripManagedFields()(object)
}

// transformPod drops what the operator does not read of a pod, so that no user decides how much memory a pod takes. It keeps the cluster
// node, what can change in place of containers, and the annotations of the operator.
func transformPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	maps.DeleteFunc(pod.Annotations, func(key, _ string) bool {
		return !strings.HasPrefix(key, cachev1alpha1.GroupVersion.Group+"/")
	})
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: pod.Spec.Containers, InitContainers: pod.Spec.InitContainers}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i, c := range containers {
			containers[i] = corev1.Container{Name: c.Name, Image: c.Image, Args: c.Args, Resources: c.Resources}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			statuses[i].VolumeMounts, statuses[i].AllocatedResources = nil, nil
		}
	}
	return pod, nil
}
