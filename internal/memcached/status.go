// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

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
	// TemplatePending says that the pod template of the Deployment is not as desired, since the write of it was held back or
	// refused. Status finds out by itself if the spec is the cause, and needs to be told if somebody else changed the template.
	TemplatePending bool
}

// heldBack says whether something that is desired may not have been written.
func (o Outcome) heldBack(mc *cachev1alpha1.Memcached) bool {
	return o.Problem != nil || o.Waiting != "" || o.Pending || Paused(mc) || mc.DeletionTimestamp != nil
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

// Status computes the status from facts. Of the old status three are used: the transition times of conditions that stay; how
// many nodes were ready when it was Available, which says whether one was lost (stillAvailable); and whether nodes counted as
// updated, which says that the Deployment controller had seen the template (templateSeen).
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
		if !facts.work.unseen && !facts.TemplatePending {
			status.UpdatedReplicas = facts.deployment.Status.UpdatedReplicas
		}
		status.Image = plain(imageOf(facts.deployment)) // somebody else may have changed it
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
	// accepted is how many nodes the Deployment asks for: another number than size if a new size was not written.
	accepted int32
	// required is how many nodes must be ready for the cache to be available; available says whether it is.
	required  int32
	available bool
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
	f := facts{Outcome: outcome, size: mc.Spec.Size, accepted: mc.Spec.Size, deployment: observed.deploymentOf(mc)}
	if f.deployment != nil {
		f.accepted = ptr.Deref(f.deployment.Spec.Replicas, 1)
		f.TemplatePending = outcome.TemplatePending ||
			outcome.heldBack(mc) && f.deployment.Annotations[templateHashAnnotation] != templateHash(mc, opts)
	}
	f.pods = nodes(f.deployment, observed.Pods)
	for _, pod := range f.pods {
		if podReady(pod) {
			f.ready++
		}
	}
	f.required = required(mc, f.accepted)
	f.available = f.ready >= f.required || stillAvailable(mc, f.ready)
	f.trouble = troubleOf(f.deployment, f.pods)
	if f.trouble == nil && f.ready < f.accepted {
		f.trouble = podFailed(f.deployment, observed.Pods, f.accepted-int32(len(f.pods))) //nolint:gosec // see Status
	}
	f.work = workOf(f.deployment, f.size, templateSeen(mc, observed.before, f.deployment))
	f.outdated = outdated(mc, f.deployment, opts)
	return f
}

// unwritten says that the Deployment is not the one that the spec asks for: its pods are others, or another number.
func (f facts) unwritten() bool {
	return f.deployment != nil && (f.accepted != f.size || f.TemplatePending)
}

// required is how many nodes must be ready: what a rollout leaves of the size that the cluster has accepted, since nodes that
// it was never asked for are not lost, and of the size that the spec asks for, since no more are wanted. A cache without a
// node is not available, however many may be replaced at once.
func required(mc *cachev1alpha1.Memcached, accepted int32) int32 {
	judged := *mc
	judged.Spec.Size = min(mc.Spec.Size, accepted)
	return max(requiredReady(&judged), min(mc.Spec.Size, 1))
}

// stillAvailable says whether the cache was available and no node has been lost since. The nodes that more are required of are
// those that a new size adds, and which start or are refused: they were never there.
func stillAvailable(mc *cachev1alpha1.Memcached, ready int32) bool {
	return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionAvailable) &&
		ready >= max(mc.Status.ReadyReplicas, 1)
}

// nodes are the pods of a Deployment that are not terminating and have not failed, sorted by name.
func nodes(deployment *appsv1.Deployment, pods []corev1.Pod) []*corev1.Pod {
	if deployment == nil {
		return nil
	}
	var nodes []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && belongsTo(pod, deployment) {
			nodes = append(nodes, pod)
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// belongsTo says whether a pod is one of a Deployment. ReplicaSets are not watched for this: their names are the Deployment's and
// the hash that their pods bear as a label.
func belongsTo(pod *corev1.Pod, deployment *appsv1.Deployment) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "ReplicaSet" &&
		owner.Name == deployment.Name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
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
