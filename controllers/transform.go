// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// transformObject removes managed fields before the cache stores an object. From Memcacheds and MemcachedProxies, it also removes the
// other metadata that the operator does not read.
func transformObject(object any) (any, error) {
	switch owner := object.(type) {
	case *cachev1alpha1.Memcached:
		owner.ObjectMeta = reduceMeta(owner.ObjectMeta)
	case *cachev1alpha1.MemcachedProxy:
		owner.ObjectMeta = reduceMeta(owner.ObjectMeta)
	}
	return cache.TransformStripManagedFields()(object)
}

// reduceMeta drops metadata that the operator does not read, such as annotations, which may take 256 KiB.
func reduceMeta(whole metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              whole.Name,
		Namespace:         whole.Namespace,
		UID:               whole.UID,
		ResourceVersion:   whole.ResourceVersion,
		Generation:        whole.Generation,
		CreationTimestamp: whole.CreationTimestamp,
		DeletionTimestamp: whole.DeletionTimestamp,
	}
}

// keptAnnotations are the annotations of pods that the operator reads. They show the template of a pod, its argument list, its change
// in place, and its restart by "kubectl rollout restart".
var keptAnnotations = []string{
	memcached.TemplateAnnotation, memcached.BaseAnnotation, memcached.InPlaceAnnotation, memcached.WakeAnnotation,
	"kubectl.kubernetes.io/restartedAt",
}

// transformPod drops what the operator does not read of a pod, which is most of its memory. Of the spec, it keeps the cluster node, and of
// pods with a launcher, which can change in place, the images, arguments and resources of memcached and its agent.
func transformPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	maps.DeleteFunc(pod.Annotations, func(key, _ string) bool { return !slices.Contains(keptAnnotations, key) })
	spec := corev1.PodSpec{NodeName: pod.Spec.NodeName}
	if pod.Annotations[memcached.TemplateAnnotation] != "" {
		spec.Containers, spec.InitContainers = reduceContainers(pod.Spec.Containers), reduceContainers(pod.Spec.InitContainers)
	}
	pod.Spec = spec
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			status, container := &statuses[i], memcached.ContainerOf(&pod.Spec, statuses[i].Name)
			status.VolumeMounts, status.AllocatedResources = nil, nil
			if container == nil || equality.Semantic.DeepEqual(&container.Resources, status.Resources) {
				status.Resources = nil // the actual resources are read only where they differ
			}
		}
	}
	return pod, nil
}

func reduceContainers(containers []corev1.Container) (kept []corev1.Container) {
	for _, c := range containers {
		if c.Name == memcached.ContainerName || c.Name == memcached.AgentContainerName {
			kept = append(kept, corev1.Container{Name: c.Name, Image: c.Image, Args: c.Args, Resources: c.Resources})
		}
	}
	return kept
}
