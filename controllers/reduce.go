// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// reduceObject keeps of a Memcached what is read, and of a child everything but the managed fields. The labels of a child are
// its selectors too, and each such map needs half a kilobyte: those of an object that are equal become one. What is in the cache
// is never changed.
func reduceObject(object any) (any, error) {
	switch child := object.(type) {
	case *cachev1alpha1.Memcached:
		reduceMemcached(child)
	case *appsv1.Deployment:
		template := &child.Spec.Template
		same := []*map[string]string{&child.Labels, &template.Labels}
		same = append(same, matchLabels(child.Spec.Selector)...)
		for _, constraint := range template.Spec.TopologySpreadConstraints {
			same = append(same, matchLabels(constraint.LabelSelector)...)
		}
		share(same...)
		for i := range template.Spec.Containers {
			resources := &template.Spec.Containers[i].Resources
			if maps.EqualFunc(resources.Requests, resources.Limits, sameText) {
				resources.Requests = resources.Limits
			}
		}
	case *corev1.Service:
		share(&child.Labels, &child.Spec.Selector)
	case *policyv1.PodDisruptionBudget:
		share(append(matchLabels(child.Spec.Selector), &child.Labels)...)
	}
	return cache.TransformStripManagedFields()(object)
}

// reduceMemcached keeps the spec, the status and who it is. The rest of the metadata is its author's: labels, annotations,
// finalizers, owners and managed fields can be as large as a request, and the operator reads only the annotation that pauses.
func reduceMemcached(mc *cachev1alpha1.Memcached) {
	whole := mc.ObjectMeta
	mc.ObjectMeta = metav1.ObjectMeta{
		Name:              whole.Name,
		Namespace:         whole.Namespace,
		UID:               whole.UID,
		ResourceVersion:   whole.ResourceVersion,
		Generation:        whole.Generation,
		CreationTimestamp: whole.CreationTimestamp,
		DeletionTimestamp: whole.DeletionTimestamp,
	}
	if paused := whole.Annotations[cachev1alpha1.PausedAnnotation]; paused == "true" {
		mc.Annotations = map[string]string{cachev1alpha1.PausedAnnotation: paused}
	}
}

// sameText says whether two quantities are written in the same way, as those of a live and a desired object are compared.
func sameText(a, b resource.Quantity) bool { return a.String() == b.String() }

func matchLabels(selector *metav1.LabelSelector) []*map[string]string {
	if selector == nil {
		return nil
	}
	return []*map[string]string{&selector.MatchLabels}
}

// share makes equal maps one.
func share(all ...*map[string]string) {
	for i, later := range all {
		for _, earlier := range all[:i] {
			if maps.Equal(*earlier, *later) {
				*later = *earlier
				break
			}
		}
	}
}

// reducePod keeps what Status reads of a pod: a seventh of it. A pod that is ready has little to tell.
func reducePod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	reduced := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:              pod.Name,
		Namespace:         pod.Namespace,
		UID:               pod.UID,
		ResourceVersion:   pod.ResourceVersion,
		Labels:            map[string]string{},
		OwnerReferences:   pod.OwnerReferences,
		DeletionTimestamp: pod.DeletionTimestamp,
	}}
	for _, label := range []string{memcached.InstanceLabel, appsv1.DefaultDeploymentUniqueLabelKey} {
		reduced.Labels[label] = pod.Labels[label]
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady:
			reduced.Status.Conditions = append(reduced.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodReady, Status: condition.Status,
			})
		case condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue:
			reduced.Status.Conditions = append(reduced.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: condition.Status, Reason: condition.Reason, Message: condition.Message,
			})
		}
	}
	for _, container := range memcached.ContainerStatuses(pod) {
		state, last := reduceState(container.State), reduceState(container.LastTerminationState)
		if (corev1.ContainerState{}) != state || (corev1.ContainerState{}) != last {
			reduced.Status.ContainerStatuses = append(reduced.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: container.Name, State: state, LastTerminationState: last,
			})
		}
	}
	return reduced, nil
}

func reduceState(state corev1.ContainerState) corev1.ContainerState {
	reduced := corev1.ContainerState{Waiting: state.Waiting}
	if exit := state.Terminated; exit != nil {
		reduced.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: exit.ExitCode, Reason: exit.Reason, Message: exit.Message,
		}
	}
	return reduced
}
