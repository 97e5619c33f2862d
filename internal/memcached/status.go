// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Outcome is what became of writing the desired objects.
type Outcome struct {
	// Problem is what kept an object from being written; nil if nothing did.
	Problem *Problem
	// Waiting says which object must be gone before another can take its name; empty if none.
	Waiting string
	// Pending says that there are changes which the pause annotation holds back.
	Pending bool
}

// Problem is something that prevents the desired state.
type Problem struct {
	// Reason is a reason of the Degraded condition.
	Reason string
	// Message says in words what is wrong and, where it is known, what helps.
	Message string
}

// Paused says whether the user holds changes back.
func Paused(mc *cachev1alpha1.Memcached) bool {
	return mc.Annotations[cachev1alpha1.PausedAnnotation] == "true"
}

// Status computes the status from facts. Of the old status only the transition times of conditions that stay are used.
func Status(
	mc *cachev1alpha1.Memcached, observed Observed, outcome Outcome, opts Options, now time.Time,
) cachev1alpha1.MemcachedStatus {
	facts := factsOf(mc, observed, outcome, opts)
	status := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           int32(len(facts.pods)), //nolint:gosec // a thousand at most, and a few more in a rollout
		ReadyReplicas:      facts.ready,
		Selector:           labels.SelectorFromSet(selectorLabels(mc)).String(),
	}
	for _, pod := range facts.pods {
		status.Nodes = append(status.Nodes, pod.Name)
	}
	if facts.deployment != nil {
		if !facts.work.unseen {
			status.UpdatedReplicas = facts.deployment.Status.UpdatedReplicas
		}
		status.Image = imageOf(facts.deployment)
	}
	if observed.Service != nil && metav1.IsControlledBy(observed.Service, mc) {
		status.ServiceName = observed.Service.Name
	}
	status.Conditions = conditions(mc, facts, now)
	return status
}

// facts are what the conditions are computed from.
type facts struct {
	Outcome

	size int32
	// required is how many nodes must be ready for the cache to be Available.
	required int32
	// pods are the nodes, sorted by name; ready is how many of them are ready.
	pods  []*corev1.Pod
	ready int32
	// deployment belongs to the Memcached; nil if there is none.
	deployment *appsv1.Deployment
	// trouble is what is wrong with the pods, or what keeps them from being created.
	trouble *Problem
	// work is what the cluster is doing.
	work work
	// outdated says which defaults the next rollout will adopt, empty if the nodes have them.
	outdated string
}

func factsOf(mc *cachev1alpha1.Memcached, observed Observed, outcome Outcome, opts Options) facts {
	f := facts{
		Outcome:    outcome,
		size:       mc.Spec.Size,
		required:   requiredReady(mc),
		deployment: observed.deploymentOf(mc),
	}
	f.pods = nodes(f.deployment, observed.Pods)
	for _, pod := range f.pods {
		if podReady(pod) {
			f.ready++
		}
	}
	f.trouble = troubleOf(f.deployment, f.pods)
	f.work = workOf(f.deployment, f.size)
	f.outdated = outdated(mc, f.deployment, opts)
	return f
}

// nodes are the pods of a Deployment that are not terminating, sorted by name. ReplicaSets are not watched for this: their
// names are the Deployment's and the hash that their pods bear as a label.
func nodes(deployment *appsv1.Deployment, pods []corev1.Pod) []*corev1.Pod {
	if deployment == nil {
		return nil
	}
	var nodes []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Kind != "ReplicaSet" || pod.DeletionTimestamp != nil {
			continue
		}
		if owner.Name == deployment.Name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
			nodes = append(nodes, pod)
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

func imageOf(deployment *appsv1.Deployment) string {
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if container.Name == containerName {
			return container.Image
		}
	}
	return ""
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
