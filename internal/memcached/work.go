// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// work is what the Deployment controller is doing.
type work struct {
	// reason is a reason of the Progressing condition, empty if there is nothing to do.
	reason, message string
	// overdue holds the Deployment's own words once it has waited longer than its progress deadline.
	overdue string
	// unseen says that the Deployment controller has not seen a change that is no mere new size, so that what the Deployment
	// says of its nodes is about what they were.
	unseen bool
}

// The Deployment controller's annotation and reasons (k8s.io/kubernetes/pkg/controller/deployment/util).
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	rolloutComplete    = "NewReplicaSetAvailable"
	rolloutOverdue     = "ProgressDeadlineExceeded"
	replicaSetRefused  = "ReplicaSetCreateError"
)

func workOf(deployment *appsv1.Deployment, size int32) work {
	if deployment == nil || deployment.Status.ObservedGeneration == 0 {
		return work{reason: cachev1alpha1.ReasonCreating, message: fmt.Sprintf("Starting %d nodes", size)}
	}
	status := deployment.Status
	// The Deployment keeps the reason of its last rollout while it scales, and also while it begins another one that
	// creates no ReplicaSet: then not all of its nodes are updated.
	completed := progressReason(deployment) == rolloutComplete
	unseen := deployment.Generation > status.ObservedGeneration
	settled := unseen || completed && status.UpdatedReplicas == status.Replicas
	switch {
	case settled && status.Replicas != size:
		return work{
			reason:  cachev1alpha1.ReasonScaling,
			message: fmt.Sprintf("Scaling from %d to %d nodes", status.Replicas, size),
		}
	case unseen:
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
