// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

// replicaSets contains the pods of a Deployment. current are the pods of the current template with an index below spec.replicas, and
// surplus are the other pods of that template. old are the pods of earlier templates.
type replicaSets struct{ current, surplus, old []corev1.Pod }

func replicaSetsOf(d *appsv1.Deployment, hash string, pods []corev1.Pod) replicaSets {
	var sets replicaSets
	for _, pod := range pods {
		index := 0
		_, err := fmt.Sscanf(pod.Name, d.Name+"-"+hash+"-%d", &index)
		switch {
		case err != nil:
			sets.old = append(sets.old, pod)
		case index < int(ptr.Deref(d.Spec.Replicas, 0)):
			sets.current = append(sets.current, pod)
		default:
			sets.surplus = append(sets.surplus, pod)
		}
	}
	return sets
}

func (s replicaSets) leaving() []corev1.Pod { return slices.Concat(s.surplus, s.old) }

// status returns the status that the simulated Deployment controller reports. All pods of the current template count as updated, even
// surplus ones.
func (s replicaSets) status(d *appsv1.Deployment, reason string) appsv1.DeploymentStatus {
	all := slices.Concat(s.current, s.surplus, s.old)
	return deploymentStatus(d, len(all), len(s.current)+len(s.surplus), readyPods(all), reason)
}

func deploymentStatus(d *appsv1.Deployment, replicas, updated, ready int, reason string) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           int32(replicas),
		UpdatedReplicas:    int32(updated),
		ReadyReplicas:      int32(ready),
		AvailableReplicas:  int32(ready),
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason,
		}},
	}
}

// runDeployment takes the steps of a rollout: it creates the pods of the current template, makes them ready, deletes all other pods,
// and reports the status. If there is no Deployment, d is empty.
func (c *cluster) runDeployment(ctx context.Context, d *appsv1.Deployment, pods []corev1.Pod) error {
	own, err := c.owned(ctx, d, "ReplicaSet", pods)
	if err != nil || d.UID == "" {
		return err
	}
	hash, size := templateHash(&d.Spec.Template), int(ptr.Deref(d.Spec.Replicas, 0))
	sets := replicaSetsOf(d, hash, own)
	if err := c.observe(ctx, d, hash, sets); err != nil {
		return err
	}
	ready := 0
	for i := range size {
		pod := deploymentPod(d, hash, i)
		if i := slices.IndexFunc(sets.current, func(other corev1.Pod) bool { return other.Name == pod.Name }); i >= 0 {
			pod = &sets.current[i]
		}
		if err := c.start(ctx, pod); err != nil {
			return err
		}
		if podReady(pod) {
			ready++
		}
	}
	if err := c.remove(ctx, sets.leaving()); err != nil {
		return err
	}
	return report(ctx, c, d, &d.Status, deploymentStatus(d, size, size, ready, "NewReplicaSetAvailable"))
}

// observe increments the revision annotation if the template is new, and reports the progress of the rollout.
func (c *cluster) observe(ctx context.Context, d *appsv1.Deployment, hash string, sets replicaSets) error {
	if d.Annotations["test.example.com/template"] != hash {
		revision, _ := strconv.Atoi(d.Annotations[revisionAnnotation])
		before := d.DeepCopy()
		d.Annotations[revisionAnnotation] = strconv.Itoa(revision + 1)
		d.Annotations["test.example.com/template"] = hash
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.client.Patch(ctx, d, patch); err != nil {
			return err
		}
	}
	if d.Status.ObservedGeneration == d.Generation && len(sets.leaving()) == 0 && readyPods(sets.current) == int(*d.Spec.Replicas) {
		return nil
	}
	reason := "ReplicaSetUpdated"
	if progress := progressOf(d); len(sets.current) > 0 && progress != "" {
		reason = progress // a Deployment that scales keeps the reason of its last rollout
	}
	return report(ctx, c, d, &d.Status, sets.status(d, reason))
}

func deploymentPod(d *appsv1.Deployment, hash string, index int) *corev1.Pod {
	labels := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	maps.Copy(labels, d.Spec.Selector.MatchLabels)
	owner := metav1.OwnerReference{Kind: "ReplicaSet", Name: d.Name + "-" + hash}
	return newPod(d, owner, fmt.Sprintf("%s-%s-%d", d.Name, hash, index), labels)
}

func progressOf(d *appsv1.Deployment) string {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing {
			return condition.Reason
		}
	}
	return ""
}
