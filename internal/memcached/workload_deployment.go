// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

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
		MinReadySeconds:    deployment.Spec.MinReadySeconds,
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
