// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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

// transformPod keeps the parts of a pod that the operator reads.
func transformPod(object any) (any, error) {
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
	launched := pod.Annotations[memcached.TemplateAnnotation] != ""
	if launched {
		keepLaunched(reduced, pod)
	}
	if launched || memcached.PodReady(pod) { // for requests to the pod's launcher or agent
		reduced.Status.PodIP = pod.Status.PodIP
	}
	if pod.Status.Phase == corev1.PodFailed {
		reduceFailed(reduced, pod)
	} else {
		reduceStatus(reduced, pod)
	}
	if pod.DeletionTimestamp != nil {
		keepEviction(reduced, pod)
	}
	return reduced, nil
}

// keptAnnotations are the annotations that keepLaunched keeps. They show the template of a pod, its argument list, its change in
// place, and its restart by "kubectl rollout restart".
var keptAnnotations = []string{
	memcached.TemplateAnnotation, memcached.BaseAnnotation, memcached.InPlaceAnnotation, memcached.WakeAnnotation,
	"kubectl.kubernetes.io/restartedAt",
}

// keepLaunched keeps what the operator needs to change a running pod. It is for pods with a launcher.
func keepLaunched(reduced, pod *corev1.Pod) {
	reduced.Annotations, reduced.Generation = map[string]string{}, pod.Generation
	for _, key := range keptAnnotations {
		if value, ok := pod.Annotations[key]; ok {
			reduced.Annotations[key] = value
		}
	}
	if server := memcached.ContainerOf(&pod.Spec, memcached.ContainerName); server != nil {
		reduced.Spec.Containers = []corev1.Container{{
			Name: server.Name, Image: server.Image, Args: server.Args, Resources: server.Resources,
		}}
	}
	if agent := memcached.ContainerOf(&pod.Spec, memcached.AgentContainerName); agent != nil {
		reduced.Spec.InitContainers = []corev1.Container{{Name: agent.Name, Image: agent.Image, Resources: agent.Resources}}
	}
}

// reduceStatus keeps what the operator reads of the status of a pod that has not failed, such as conditions, what each container
// waits for, and how it last ended.
func reduceStatus(reduced, pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodPending {
		reduced.Status.Phase = corev1.PodPending
	}
	for _, condition := range pod.Status.Conditions {
		if kept, counts := reduceCondition(condition); counts || condition.Type == corev1.ContainersReady && memcached.CutOff(pod) {
			reduced.Status.Conditions = append(reduced.Status.Conditions, kept)
		}
	}
	silent := memcached.HasAgent(pod) && !memcached.PodReady(pod)
	for _, container := range memcached.ContainerStatuses(pod) {
		kept, counts := reduceContainer(container)
		if reduced.Annotations != nil && keepChange(&kept, container, pod) || counts || silent {
			reduced.Status.ContainerStatuses = append(reduced.Status.ContainerStatuses, kept)
		}
	}
}

// keepChange keeps the restart count of a container, and its actual resources if they differ from the spec. It reports whether
// the container has restarted or has such resources.
func keepChange(kept *corev1.ContainerStatus, container corev1.ContainerStatus, pod *corev1.Pod) bool {
	kept.RestartCount = container.RestartCount
	spec := memcached.ContainerOf(&pod.Spec, container.Name)
	if container.Resources != nil && spec != nil && !equality.Semantic.DeepEqual(*container.Resources, spec.Resources) {
		kept.Resources = container.Resources
	}
	return kept.RestartCount > 0 || kept.Resources != nil
}

// keepEviction keeps three facts about a terminating pod that was evicted: the reason, the cluster node and the grace period. They show
// whether the pod is lost.
func keepEviction(reduced, pod *corev1.Pod) {
	if eviction := memcached.PodCondition(pod, corev1.DisruptionTarget); eviction != nil {
		kept := corev1.PodCondition{Type: eviction.Type, Status: eviction.Status, Reason: eviction.Reason}
		reduced.Status.Conditions = append(reduced.Status.Conditions, kept)
		reduced.DeletionGracePeriodSeconds, reduced.Spec.NodeName = pod.DeletionGracePeriodSeconds, pod.Spec.NodeName
	}
}

// longestMessage is how many bytes of a failed pod's message are kept: as many as an event can have.
const longestMessage = 1024

// reduceFailed keeps why and when a pod failed. There may be thousands of failed pods: by default, Kubernetes keeps up to
// 12,500 terminated pods (--terminated-pod-gc-threshold of kube-controller-manager).
func reduceFailed(reduced, pod *corev1.Pod) {
	message := pod.Status.Message
	reduced.CreationTimestamp = memcached.FailedAt(pod) // the reduced pod lacks the fields that show when it failed
	reduced.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: pod.Status.Reason, Message: message[:min(len(message), longestMessage)],
	}
	reduced.OwnerReferences = nil
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		reduced.OwnerReferences = []metav1.OwnerReference{{Kind: owner.Kind, Name: owner.Name, Controller: ptr.To(true)}}
	}
}

// reduceCondition keeps whether and since when a pod is ready, why it is not scheduled, and what a change of its resources
// waits for. It returns false for other conditions.
func reduceCondition(condition corev1.PodCondition) (corev1.PodCondition, bool) {
	reduced := corev1.PodCondition{Type: condition.Type, Status: condition.Status}
	switch {
	case condition.Type == corev1.PodReady:
		reduced.LastTransitionTime = condition.LastTransitionTime
	case condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue:
		reduced.Reason, reduced.Message = condition.Reason, condition.Message
	case condition.Type == corev1.PodResizePending, condition.Type == corev1.PodResizeInProgress:
		reduced.Reason, reduced.Message, reduced.ObservedGeneration = condition.Reason, condition.Message, condition.ObservedGeneration
	default:
		return reduced, false
	}
	return reduced, true
}

// reduceContainer keeps why a container does not run, whether and when it started, and how it last ended. Counts is false for a
// container that runs and has never ended.
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
