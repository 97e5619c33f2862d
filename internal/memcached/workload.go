// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Workload is the object that runs the nodes, a Deployment or a StatefulSet, in a common form.
type Workload struct {
	client.Object

	Kind cachev1alpha1.WorkloadKind
	// Size is the requested number of nodes. Selector selects their pods, and Template is the pod template.
	Size     int32
	Selector map[string]string
	Template *corev1.PodTemplateSpec
	// MinReadySeconds is how long a new node must be ready before the next one is replaced.
	MinReadySeconds int32

	// ObservedGeneration is the generation that the workload's controller has observed, 0 for none.
	ObservedGeneration int64
	// Replicas, Updated, Ready and Available are the numbers of nodes in the workload's status.
	Replicas, Updated, Ready, Available int32
	// Complete reports that the last rollout of a Deployment is complete, and First that it was the first one.
	Complete, First bool
	// UpdateRevision is the value of the label controller-revision-hash on new pods of a StatefulSet.
	UpdateRevision string
	// Overdue is the message of a Deployment whose rollout has exceeded its deadline. Refused is the API server's error when it
	// refused pods or a ReplicaSet. Each may be empty.
	Overdue, Refused string
	// Owns reports whether a pod belongs to the workload.
	Owns func(*corev1.Pod) bool
}

// AsWorkload returns the object as a Workload, or nil if it runs no nodes.
func AsWorkload(object client.Object) *Workload {
	return cmp.Or(deploymentWorkload(object), statefulSetWorkload(object))
}

func findWorkload(objects []client.Object, fits func(*Workload) bool) *Workload {
	for _, object := range objects {
		if workload := AsWorkload(object); workload != nil && fits(workload) {
			return workload
		}
	}
	return nil
}

// WorkloadKind returns the Kind of workload that the spec asks for.
func WorkloadKind(mc *cachev1alpha1.Memcached) cachev1alpha1.WorkloadKind {
	return cmp.Or(mc.Spec.Workload, cachev1alpha1.WorkloadDeployment)
}

// IsStatefulSet reports whether the spec asks for a StatefulSet. Only its pods have a launcher, which starts memcached, and an agent.
func IsStatefulSet(mc *cachev1alpha1.Memcached) bool {
	return WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet
}

// Unobserved reports whether the workload's controller has not observed its current generation.
func (w *Workload) Unobserved() bool { return w.GetGeneration() > w.ObservedGeneration }

// Image returns the image of the memcached container, or "".
func (w *Workload) Image() string {
	if container := ContainerOf(&w.Template.Spec, ContainerName); container != nil {
		return container.Image
	}
	return ""
}

// Nodes returns the workload's pods that are not terminating and have not failed, sorted by name, or by number for a StatefulSet.
func (w *Workload) Nodes(pods []corev1.Pod) []*corev1.Pod {
	if w == nil {
		return nil
	}
	return nodesOf(pods, w.Owns, w.Kind == cachev1alpha1.WorkloadStatefulSet)
}

// nodesOf returns the chosen pods that are neither terminating nor failed, sorted by name. If numbered, it sorts by the number at
// the end of the name.
func nodesOf(pods []corev1.Pod, chosen func(*corev1.Pod) bool, numbered bool) []*corev1.Pod {
	var nodes []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && chosen(pod) {
			nodes = append(nodes, pod)
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Pod) int {
		if numbered && len(a.Name) != len(b.Name) {
			return len(a.Name) - len(b.Name) // so that 10 comes after 9
		}
		return strings.Compare(a.Name, b.Name)
	})
	return nodes
}

// Settled reports whether the controller has carried out the workload's spec: its status counts as many pods as the spec wants, all ready
// and, for a Deployment, updated.
func Settled(object client.Object) bool {
	w := AsWorkload(object)
	updated := w != nil && (w.Kind == cachev1alpha1.WorkloadStatefulSet || w.Complete && w.Updated == w.Size)
	return updated && w.GetGeneration() == w.ObservedGeneration && w.Replicas == w.Size && w.Ready == w.Size
}

// PodTemplate returns the pod template of a workload, nil for any other object.
func PodTemplate(object client.Object) *corev1.PodTemplateSpec {
	if w := AsWorkload(object); w != nil {
		return w.Template
	}
	return nil
}

// ProgressDeadlineSeconds returns how many seconds a rollout may take without progress. It must exceed minReadySeconds.
func ProgressDeadlineSeconds(minReadySeconds int32) int32 { return 600 + minReadySeconds }
