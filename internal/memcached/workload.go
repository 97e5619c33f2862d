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

// Workload is what packages desired and status know about the object that runs the nodes.
type Workload struct {
	client.Object

	// Kind of the object.
	Kind cachev1alpha1.WorkloadKind
	// Size is the requested number of nodes, Selector selects them, and Template is their pod template.
	Size     int32
	Selector map[string]string
	Template *corev1.PodTemplateSpec
	// MaxSurge, MaxUnavailable and MinReadySeconds are how it replaces them.
	MaxSurge, MaxUnavailable intstr.IntOrString
	MinReadySeconds          int32
	// Partition is the number of the first node that a StatefulSet may replace.
	Partition int32

	// ObservedGeneration is the generation that its controller has seen, 0 if it has seen none.
	ObservedGeneration int64
	// Replicas, Updated, Ready and Available are how many nodes its controller has counted.
	Replicas, Updated, Ready, Available int32
	// Complete reports that its last rollout is complete, First that this is its only rollout so far. A StatefulSet does not tell
	// the latter.
	Complete, First bool
	// UpdateRevision is the revision label of a StatefulSet's updated pods, empty for other workloads.
	UpdateRevision string
	// Overdue is the workload's own message that a rollout exceeded its deadline, Refused the API server's error about its pods.
	// Each is empty if there is none.
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
		if !w.Made(node) {
			outdated++
		}
	}
	return outdated
}

// Made reports whether a pod of a StatefulSet is made from the template that its controller has seen.
func (w *Workload) Made(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == w.UpdateRevision
}

// Nodes returns the workload's pods that are not terminating and have not failed, sorted by name, or by number for a StatefulSet.
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

// Settled reports whether a workload's controller has carried out its spec: every pod is ready, and no other one is left.
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

// ProgressDeadlineSeconds is how long a rollout may take for its next node. The time starts anew for each node, and must exceed
// minReadySeconds.
func ProgressDeadlineSeconds(mc *cachev1alpha1.Memcached) int32 {
	return 600 + mc.Spec.UpdateStrategy.MinReadySeconds
}
