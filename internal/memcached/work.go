// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// work is what the Deployment controller is doing.
type work struct {
	// reason is a reason of the Progressing condition, empty if there is nothing to do.
	reason, message string
	// overdue holds the Deployment's own words once it has waited longer than its progress deadline.
	overdue string
	// unseen says that the Deployment controller may not have seen the template, so that what the Deployment says of updated
	// nodes is about what they were.
	unseen bool
}

// The Deployment controller's annotation and reasons (k8s.io/kubernetes/pkg/controller/deployment/util).
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	rolloutComplete    = "NewReplicaSetAvailable"
	rolloutOverdue     = "ProgressDeadlineExceeded"
	replicaSetRefused  = "ReplicaSetCreateError"
)

// templateSeen says whether the Deployment controller has seen the pod template: only then are the nodes those of which the
// Deployment tells. A generation that it has not seen says nothing about that, since annotations, minReadySeconds and the size
// make one too. The template was seen if it is that of the Deployment as it was observed, in a generation that had been seen,
// before this process wrote. If that is not known (nothing was written, or twice in a moment), it is as the last status has it
// if that is about the present spec: it counts no updated nodes while the template is unseen. In doubt it was not: then the
// Memcached is not Ready for the moment until the Deployment controller has looked.
func templateSeen(mc *cachev1alpha1.Memcached, before, deployment *appsv1.Deployment) bool {
	if deployment == nil || !unseen(deployment) {
		return true
	}
	if before != nil {
		if before.UID != deployment.UID || !equality.Semantic.DeepEqual(before.Spec.Template, deployment.Spec.Template) {
			return false
		}
		if !unseen(before) {
			return true
		}
	}
	counted := mc.Status.UpdatedReplicas > 0 || meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	return counted && mc.Status.ObservedGeneration == mc.Generation
}

// unseen says whether the Deployment controller has not looked at a Deployment since it was last written.
func unseen(deployment *appsv1.Deployment) bool {
	return deployment.Generation > deployment.Status.ObservedGeneration
}

func workOf(deployment *appsv1.Deployment, size int32, templateSeen bool) work {
	if deployment == nil || deployment.Status.ObservedGeneration == 0 {
		return work{reason: cachev1alpha1.ReasonCreating, message: fmt.Sprintf("Starting %d nodes", size)}
	}
	status := deployment.Status
	// The Deployment keeps the reason of its last rollout while it scales, and also while it begins another one that
	// creates no ReplicaSet: then not all of its nodes are updated.
	completed := progressReason(deployment) == rolloutComplete
	settled := !templateSeen || completed && status.UpdatedReplicas == status.Replicas
	switch {
	case settled && status.Replicas != size:
		return work{
			reason:  cachev1alpha1.ReasonScaling,
			message: fmt.Sprintf("Scaling from %d to %d nodes", status.Replicas, size),
			unseen:  !templateSeen,
		}
	case !templateSeen:
		return work{reason: cachev1alpha1.ReasonRollingOut, message: fmt.Sprintf("Updating %d nodes", size), unseen: true}
	case settled:
		return work{}
	default:
		return rolloutOf(deployment, size, completed)
	}
}

// rolloutOf is a rollout under way: the first one of the Deployment, unless it has completed one.
func rolloutOf(deployment *appsv1.Deployment, size int32, completed bool) work {
	rollout := work{
		reason:  cachev1alpha1.ReasonRollingOut,
		message: fmt.Sprintf("%d of %d nodes are updated", deployment.Status.UpdatedReplicas, size),
	}
	if deployment.Annotations[revisionAnnotation] == "1" && !completed {
		rollout.reason = cachev1alpha1.ReasonCreating
		rollout.message = fmt.Sprintf("%d of %d nodes are started", deployment.Status.ReadyReplicas, size)
	}
	if progressReason(deployment) == rolloutOverdue {
		rollout.overdue = deploymentCondition(deployment, appsv1.DeploymentProgressing).Message
	}
	return rollout
}

func progressReason(deployment *appsv1.Deployment) string {
	if progressing := deploymentCondition(deployment, appsv1.DeploymentProgressing); progressing != nil {
		return progressing.Reason
	}
	return ""
}

func deploymentCondition(
	deployment *appsv1.Deployment, conditionType appsv1.DeploymentConditionType,
) *appsv1.DeploymentCondition {
	for i := range deployment.Status.Conditions {
		if deployment.Status.Conditions[i].Type == conditionType {
			return &deployment.Status.Conditions[i]
		}
	}
	return nil
}
