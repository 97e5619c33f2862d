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
	"k8s.io/utils/ptr"
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

// IsStatefulSet reports whether the spec asks for a StatefulSet. Only its pods have an agent, as the parent of memcached and beside it.
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

// Annotation and reasons that the Deployment controller sets (k8s.io/kubernetes/pkg/controller/deployment/util).
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	rolloutComplete    = "NewReplicaSetAvailable"
	rolloutOverdue     = "ProgressDeadlineExceeded"
	replicaSetRefused  = "ReplicaSetCreateError"
)

// deploymentWorkload returns a Deployment as a Workload, nil for any other object.
func deploymentWorkload(object client.Object) *Workload {
	deployment, ok := object.(*appsv1.Deployment)
	if !ok || deployment == nil {
		return nil
	}
	status := deployment.Status
	w := &Workload{
		Object:             deployment,
		Kind:               cachev1alpha1.WorkloadDeployment,
		Size:               ptr.Deref(deployment.Spec.Replicas, 1),
		Selector:           ptr.Deref(deployment.Spec.Selector, metav1.LabelSelector{}).MatchLabels,
		Template:           &deployment.Spec.Template,
		ObservedGeneration: status.ObservedGeneration,
		Replicas:           status.Replicas,
		Updated:            status.UpdatedReplicas,
		Ready:              status.ReadyReplicas,
		Available:          status.AvailableReplicas,
		First:              deployment.Annotations[revisionAnnotation] == "1",
		Owns:               func(pod *corev1.Pod) bool { return ownedByDeployment(pod, deployment.Name) },
	}
	if failure := deploymentCondition(deployment, appsv1.DeploymentReplicaFailure); failure.Status == corev1.ConditionTrue {
		w.Refused = cmp.Or(failure.Message, failure.Reason)
	}
	switch progressing := deploymentCondition(deployment, appsv1.DeploymentProgressing); progressing.Reason {
	case rolloutComplete:
		w.Complete = true
	case rolloutOverdue:
		w.Overdue = progressing.Message
	case replicaSetRefused:
		w.Refused = cmp.Or(progressing.Message, w.Refused, progressing.Reason)
	}
	return w
}

// ownedByDeployment reports whether a pod belongs to a Deployment. It compares names instead of watching ReplicaSets: the name of a
// ReplicaSet consists of the Deployment's name and the value of the pods' label pod-template-hash.
func ownedByDeployment(pod *corev1.Pod, deployment string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "ReplicaSet" &&
		owner.Name == deployment+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// deploymentCondition returns the condition of this type, or an empty one.
func deploymentCondition(deployment *appsv1.Deployment, conditionType appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == conditionType {
			return condition
		}
	}
	return appsv1.DeploymentCondition{}
}

// Orphans returns the nodes of a former workload, sorted by name, with node 10 after node 9. The Service still selects these nodes.
// Somebody has deleted their workload with --cascade=orphan, or their workload is Left. The pods of a ReplicaSet that remains from a
// deleted Deployment count, too.
func (v View) Orphans() []*corev1.Pod {
	deployment := findWorkload(v.Children, func(w *Workload) bool {
		return w.Kind == cachev1alpha1.WorkloadDeployment && w.GetName() == v.Memcached.Name
	})
	left := v.Left()
	return nodesOf(v.Pods, func(pod *corev1.Pod) bool {
		return pod.Labels[NameLabel] == nodeName && // as in the selector of the Service
			(metav1.GetControllerOfNoCopy(pod) == nil || left != nil && left.Owns(pod) ||
				deployment == nil && ownedByDeployment(pod, pod.Labels[InstanceLabel]))
	}, true)
}

// Left returns a workload that a former Memcached of the same name has left, and whose nodes the Service selects, or nil: it was deleted
// with --cascade=orphan, or a backup was restored.
func (v View) Left() *Workload {
	return findWorkload(v.Children, func(w *Workload) bool {
		return metav1.GetControllerOfNoCopy(w) == nil && w.GetAnnotations()[AppliedHashAnnotation] != "" && w.Selector[NameLabel] == nodeName &&
			!slices.ContainsFunc(v.Workloads, func(ours *Workload) bool { return ours != nil && ours.GetUID() == w.GetUID() })
	})
}

// statefulSetWorkload returns a StatefulSet as a Workload, nil for any other object. Overdue stays empty, because
// its controller reports no missed deadlines. It reports refused pods only in events: see Observed.Refused.
func statefulSetWorkload(object client.Object) *Workload {
	set, ok := object.(*appsv1.StatefulSet)
	if !ok || set == nil {
		return nil
	}
	status := set.Status
	return &Workload{
		Object:             set,
		Kind:               cachev1alpha1.WorkloadStatefulSet,
		Size:               ptr.Deref(set.Spec.Replicas, 1),
		Selector:           ptr.Deref(set.Spec.Selector, metav1.LabelSelector{}).MatchLabels,
		Template:           &set.Spec.Template,
		ObservedGeneration: status.ObservedGeneration,
		Replicas:           status.Replicas,
		Updated:            status.UpdatedReplicas,
		Ready:              status.ReadyReplicas,
		Available:          status.AvailableReplicas,
		UpdateRevision:     status.UpdateRevision,
		Owns:               func(pod *corev1.Pod) bool { return ownedByStatefulSet(pod, set.Name) },
	}
}

func ownedByStatefulSet(pod *corev1.Pod, set string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "StatefulSet" && owner.Name == set
}
