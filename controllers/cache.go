// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// CacheOptions limits the cached children and pods to those with the operator's label, and leaves out pods that have succeeded. The
// cache drops large parts of objects that the operator does not read. If no controller watches a kind, reading objects of this kind
// fails. The argument namespace limits all of them to one namespace, unless it is empty.
func CacheOptions(namespace string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{memcached.ManagedByLabel: memcached.ManagedBy})
	options := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            transformObject,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Label: ours,
				// Failed pods stay in the cache, because they show why the kubelet rejected or evicted them.
				Field:     fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
				Transform: transformPod,
			},
		},
	}
	for _, child := range memcached.Kinds() {
		options.ByObject[child.New()] = cache.ByObject{Label: ours}
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options
}

// Synced returns an error if a cache of Memcacheds, their children or pods is not filled yet. It does not wait. The
// operator starts to reconcile only when all of these caches are filled.
func Synced(ctx context.Context, c cache.Cache) error {
	objects := []client.Object{&cachev1alpha1.Memcached{}, &corev1.Pod{}}
	for _, child := range memcached.Kinds() {
		objects = append(objects, child.New())
	}
	for _, object := range objects {
		informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if !informer.HasSynced() {
			return fmt.Errorf("the watch of %T has not delivered what exists", object)
		}
	}
	return nil
}

// transformObject removes managed fields before the cache stores an object. From Memcacheds, it also removes the labels and
// annotations, which the operator does not read: annotations may take 256 KiB.
func transformObject(object any) (any, error) {
	if mc, ok := object.(*cachev1alpha1.Memcached); ok {
		mc.Labels, mc.Annotations = nil, nil
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
			containers[i] = corev1.Container{Name: c.Name, Image: c.Image, Args: c.Args, Resources: c.Resources, ResizePolicy: c.ResizePolicy}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			statuses[i].VolumeMounts, statuses[i].AllocatedResources = nil, nil
		}
	}
	return pod, nil
}
