// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"maps"
	"reflect"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// transformObject keeps what is read of a Memcached, and everything but the managed fields of a child. The labels of a child are
// its selectors too, and each such map needs half a kilobyte: those of an object that are equal become one. What is in the cache
// is never changed.
func (s *sharedParts) transformObject(object any) (any, error) {
	switch object := object.(type) {
	case *cachev1alpha1.Memcached:
		transformMemcached(object)
	case client.Object:
		if child, ok := memcached.ChildOf(object); ok {
			share(child.Maps(object)...)
		}
		if template := memcached.PodTemplate(object); template != nil {
			shareResources(template)
			s.shareContainers(template)
		}
	}
	return cache.TransformStripManagedFields()(object)
}

// shareResources keeps equal requests and limits once. client-go transforms what a list has twice, and the second time, the
// containers may be those of other objects already.
func shareResources(template *corev1.PodTemplateSpec) {
	for i := range template.Spec.Containers {
		resources := &template.Spec.Containers[i].Resources
		if !sameMap(resources.Requests, resources.Limits) && maps.EqualFunc(resources.Requests, resources.Limits, sameText) {
			resources.Requests = resources.Limits
		}
	}
}

func sameMap(a, b corev1.ResourceList) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// transformMemcached keeps the spec, the status and who it is. The rest of the metadata is its author's: labels, annotations,
// finalizers, owners and managed fields can be as large as a request, and the operator reads none of it.
func transformMemcached(mc *cachev1alpha1.Memcached) {
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
}

// sameText reports whether two quantities are written in the same way, as those of a live and a desired object are compared.
func sameText(a, b resource.Quantity) bool { return a.String() == b.String() }

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

// transformPod keeps what Status reads of a pod: a seventh of it. Little is read of a pod that is ready.
func (s *sharedParts) transformPod(object any) (any, error) {
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
		CreationTimestamp: pod.CreationTimestamp,
		DeletionTimestamp: pod.DeletionTimestamp,
	}}
	for _, label := range []string{
		memcached.NameLabel, memcached.InstanceLabel, appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey,
	} {
		if value, ok := pod.Labels[label]; ok {
			reduced.Labels[label] = value
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		reduceFailed(reduced, pod)
	} else {
		reduceStatus(reduced, pod)
	}
	if pod.DeletionTimestamp != nil {
		keepEviction(reduced, pod)
	}
	s.sharePod(reduced)
	return reduced, nil
}

// reduceStatus keeps of a pod that has not failed what it waits for and how it ended before.
func reduceStatus(reduced, pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodPending {
		reduced.Status.Phase = corev1.PodPending
	}
	for _, condition := range pod.Status.Conditions {
		if kept, counts := reduceCondition(condition); counts {
			reduced.Status.Conditions = append(reduced.Status.Conditions, kept)
		}
	}
	silent := memcached.HasAgent(pod) && !memcached.PodReady(pod)
	for _, container := range memcached.ContainerStatuses(pod) {
		if kept, counts := reduceContainer(container); counts || silent {
			reduced.Status.ContainerStatuses = append(reduced.Status.ContainerStatuses, kept)
		}
	}
}

// keepEviction keeps of a terminating pod why it was evicted, from where, and for how long it may stop: whether it is lost.
func keepEviction(reduced, pod *corev1.Pod) {
	if eviction := memcached.PodCondition(pod, corev1.DisruptionTarget); eviction != nil {
		kept := corev1.PodCondition{Type: eviction.Type, Status: eviction.Status, Reason: eviction.Reason}
		reduced.Status.Conditions = append(reduced.Status.Conditions, kept)
		reduced.DeletionGracePeriodSeconds, reduced.Spec.NodeName = pod.DeletionGracePeriodSeconds, pod.Spec.NodeName
	}
}

// longestMessage is how much of the message of a failed pod is kept: as much as a condition can hold.
const longestMessage = 1024

// reduceFailed keeps of a failed pod why and when it failed. There may be thousands: Kubernetes collects them when a cluster has
// 12,500 (--terminated-pod-gc-threshold of kube-controller-manager). What they have in common is in memory once.
func reduceFailed(reduced, pod *corev1.Pod) {
	one := func(text string) string { return unique.Make(text).Value() }
	message := pod.Status.Message
	reduced.CreationTimestamp = memcached.FailedAt(pod) // in the place of the times that say it
	reduced.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: one(pod.Status.Reason), Message: one(message[:min(len(message), longestMessage)]),
	}
	reduced.Namespace = one(pod.Namespace)
	for label, value := range reduced.Labels {
		reduced.Labels[label] = one(value)
	}
	reduced.OwnerReferences = nil
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		reduced.OwnerReferences = []metav1.OwnerReference{{Kind: one(owner.Kind), Name: one(owner.Name), Controller: ptr.To(true)}}
	}
}

// reduceCondition keeps whether a pod is ready, since when, and why it is not scheduled.
func reduceCondition(condition corev1.PodCondition) (corev1.PodCondition, bool) {
	reduced := corev1.PodCondition{Type: condition.Type, Status: condition.Status}
	switch {
	case condition.Type == corev1.PodReady:
		reduced.LastTransitionTime = condition.LastTransitionTime
	case condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue:
		reduced.Reason, reduced.Message = condition.Reason, condition.Message
	default:
		return reduced, false
	}
	return reduced, true
}

// reduceContainer keeps why a container does not run, whether it has started, and how it ended before. Of one that runs and never
// ended, there is nothing that counts, unless its agent says that it does not answer: then it counts since when it runs.
func reduceContainer(container corev1.ContainerStatus) (_ corev1.ContainerStatus, counts bool) {
	state, last := reduceState(container.State), reduceState(container.LastTerminationState)
	nothing := corev1.ContainerState{}
	counts = state != nothing || last != nothing
	if running := container.State.Running; running != nil {
		state.Running = &corev1.ContainerStateRunning{StartedAt: running.StartedAt}
	}
	return corev1.ContainerStatus{
		Name: container.Name, Ready: container.Ready, Started: container.Started, State: state, LastTerminationState: last,
	}, counts
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
