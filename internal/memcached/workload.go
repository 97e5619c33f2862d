// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Workload is all that packages desired and status know of the object that runs the nodes.
type Workload struct {
	client.Object

	// Kind of the object.
	Kind cachev1alpha1.WorkloadKind
	// Size is how many nodes it asks for, Selector selects them, and Template is what they are made from.
	Size     int32
	Selector map[string]string
	Template *corev1.PodTemplateSpec
	// MaxSurge, MaxUnavailable and MinReadySeconds are how it replaces them.
	MaxSurge, MaxUnavailable intstr.IntOrString
	MinReadySeconds          int32

	// ObservedGeneration is the generation that its controller has seen, 0 if it has seen none.
	ObservedGeneration int64
	// Replicas, Updated, Ready and Available are how many nodes its controller has counted.
	Replicas, Updated, Ready, Available int32
	// Complete reports that its last rollout is complete, First that it has begun no second one. Nobody tells the latter about
	// a StatefulSet.
	Complete, First bool
	// Partition is from which number on the controller of a StatefulSet replaces pods, 0 for all of them.
	Partition int32
	// UpdateRevision is what a StatefulSet's pods made from the template bear as a label, empty for other workloads.
	UpdateRevision string
	// Overdue is its own message that a rollout has exceeded its deadline, Refused the error with which the API server refuses
	// its pods. Both are empty if there is no such thing.
	Overdue, Refused string
	// Owns reports whether a pod is one of its pods.
	Owns func(*corev1.Pod) bool
	// Resized returns an object with the same spec but for the size, and with other metadata.
	Resized func(metadata metav1.ObjectMeta, size int32) client.Object
}

// AsWorkload returns the object as a workload, nil if it is none.
func AsWorkload(object client.Object) *Workload {
	return cmp.Or(deploymentWorkload(object), statefulSetWorkload(object))
}

// findWorkload returns the first workload that fits, or nil.
func findWorkload(objects []client.Object, fits func(*Workload) bool) *Workload {
	for _, object := range objects {
		if workload := AsWorkload(object); workload != nil && fits(workload) {
			return workload
		}
	}
	return nil
}

// WorkloadKind is the Kind of the workload that a Memcached asks for.
func WorkloadKind(mc *cachev1alpha1.Memcached) cachev1alpha1.WorkloadKind {
	return cmp.Or(mc.Spec.Workload, cachev1alpha1.WorkloadDeployment)
}

// Unobserved reports whether the controller of the workload has not seen its present generation.
func (w *Workload) Unobserved() bool { return w.GetGeneration() > w.ObservedGeneration }

// RollingOut reports whether its controller may still make pods from an earlier template.
func (w *Workload) RollingOut() bool { return w != nil && (w.Unobserved() || !w.Complete) }

// Image is the image of memcached.
func (w *Workload) Image() string {
	for _, container := range w.Template.Spec.Containers {
		if container.Name == ContainerName {
			return container.Image
		}
	}
	return ""
}

// Outdated is how many nodes are not made from the template.
func (w *Workload) Outdated(nodes []*corev1.Pod) int {
	if w.UpdateRevision == "" {
		return int(w.Replicas - w.Updated)
	}
	outdated := 0
	for _, node := range nodes {
		if node.Labels[appsv1.ControllerRevisionHashLabelKey] != w.UpdateRevision {
			outdated++
		}
	}
	return outdated
}

// Nodes are the pods of the workload that are not terminating and have not failed, sorted by name, those of a StatefulSet by number.
func (w *Workload) Nodes(pods []corev1.Pod) []*corev1.Pod {
	if w == nil {
		return nil
	}
	return nodesOf(pods, w.Owns, w.Kind == cachev1alpha1.WorkloadStatefulSet)
}

// nodesOf are the pods that are chosen, not terminating and not failed, sorted by name, or by the number in it.
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
			return len(a.Name) - len(b.Name) // 10 comes after 9
		}
		return strings.Compare(a.Name, b.Name)
	})
	return nodes
}

// Settled reports whether the controller of a workload has carried out its spec, so that the last of its pods became ready or
// left a moment ago.
func Settled(object client.Object) bool {
	w := AsWorkload(object)
	return w != nil && w.GetGeneration() == w.ObservedGeneration && w.Complete &&
		w.Replicas == w.Size && w.Updated == w.Size && w.Ready == w.Size
}

// PodTemplate returns the pod template of a workload, nil for any other object.
func PodTemplate(object client.Object) *corev1.PodTemplateSpec {
	if w := AsWorkload(object); w != nil {
		return w.Template
	}
	return nil
}

// ProgressDeadlineSeconds is how long the workload of a Memcached may take for the next node of a rollout. It runs for each node
// anew; a node that must be ready for an hour before the next must fit in it.
func ProgressDeadlineSeconds(mc *cachev1alpha1.Memcached) int32 {
	return 600 + mc.Spec.UpdateStrategy.MinReadySeconds
}
