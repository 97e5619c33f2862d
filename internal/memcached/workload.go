// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload is all that defaults, status and conditions know of the object that runs the nodes.
type workload struct {
	client.Object

	// size is how many nodes it asks for, selector selects them, and template is what they are made from.
	size     int32
	selector map[string]string
	template *corev1.PodTemplateSpec

	// observedGeneration is the generation that its controller has seen, 0 if it has seen none.
	observedGeneration int64
	// replicas, updated and ready are how many nodes its controller has counted.
	replicas, updated, ready int32
	// complete reports that its last rollout is complete, first that it has begun no second one.
	complete, first bool
	// overdue is its own message that a rollout has exceeded its deadline, refused the error with which the API server refuses
	// its pods. Both are empty if there is no such thing.
	overdue, refused string
	// owns reports whether a pod is one of its pods.
	owns func(*corev1.Pod) bool
}

// asWorkload returns the object as a workload, nil if it is none.
func asWorkload(object client.Object) *workload {
	return deploymentWorkload(object)
}

func findWorkload(objects []client.Object) *workload {
	for _, object := range objects {
		if workload := asWorkload(object); workload != nil {
			return workload
		}
	}
	return nil
}

// unobserved reports whether the controller of the workload has not seen its present generation.
func (w *workload) unobserved() bool { return w.GetGeneration() > w.observedGeneration }

// image is the image of memcached.
func (w *workload) image() string {
	for _, container := range w.template.Spec.Containers {
		if container.Name == containerName {
			return container.Image
		}
	}
	return ""
}

// nodes are the pods of the workload that are not terminating and have not failed, sorted by name.
func (w *workload) nodes(pods []corev1.Pod) []*corev1.Pod {
	if w == nil {
		return nil
	}
	var nodes []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && w.owns(pod) {
			nodes = append(nodes, pod)
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// Settled reports whether the controller of a workload has carried out its spec, so that the last of its pods became ready or
// left a moment ago.
func Settled(object client.Object) bool {
	w := asWorkload(object)
	return w != nil && w.GetGeneration() == w.observedGeneration && w.complete &&
		w.replicas == w.size && w.updated == w.size && w.ready == w.size
}

// AllReady reports whether a workload has exactly the pods that its spec asks for, and all of them are ready.
func AllReady(object client.Object, pods []corev1.Pod) bool {
	w := asWorkload(object)
	if w == nil {
		return false
	}
	nodes := w.nodes(pods)
	return len(nodes) == int(w.size) && !slices.ContainsFunc(nodes, func(pod *corev1.Pod) bool { return !podReady(pod) })
}

// JoinsOrLeaves reports whether a pod has just become ready, or begun to leave: it may be the last one that somebody waits for.
func JoinsOrLeaves(before, after *corev1.Pod) bool {
	return podReady(after) && !podReady(before) || before.DeletionTimestamp == nil && after.DeletionTimestamp != nil
}

// PodTemplate returns the pod template of a workload, nil for any other object.
func PodTemplate(object client.Object) *corev1.PodTemplateSpec {
	if w := asWorkload(object); w != nil {
		return w.template
	}
	return nil
}

func podReady(pod *corev1.Pod) bool {
	condition := podCondition(pod, corev1.PodReady)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
