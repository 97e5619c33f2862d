// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Outcome is what became of writing the desired objects.
type Outcome struct {
	// Problem is what kept an object from being written; nil if nothing did.
	Problem *Problem
	// Waiting says which object must be gone before another can take its name; empty if none.
	Waiting string
	// Pending reports that there are changes which the pause annotation holds back.
	Pending bool
	// TemplatePending reports that the pod template is not as desired, since the write of it was held back or
	// refused. Status finds out by itself if the spec is the cause, but not if somebody else changed the template.
	TemplatePending bool
}

// heldBack reports whether something that is desired may not have been written.
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

// Paused reports whether the user holds changes back.
func Paused(mc *cachev1alpha1.Memcached) bool {
	return mc.Annotations[cachev1alpha1.PausedAnnotation] == "true"
}

// Status computes the status from facts. Of the old status three are used: the transition times of conditions that stay; how
// many nodes were ready when it was Available, which says whether one was lost (stillAvailable); and whether nodes counted as
// updated, which says that the controller of the workload had seen the template (templateObserved).
func Status(
	mc *cachev1alpha1.Memcached, observed Observed, outcome Outcome, opts Options, now time.Time,
) cachev1alpha1.MemcachedStatus {
	facts := factsOf(mc, observed, outcome, opts)
	status := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           int32(len(facts.nodes)), //nolint:gosec // a thousand at most, and a few more in a rollout
		ReadyReplicas:      facts.ready,
		Selector:           labels.SelectorFromSet(selectorLabels(mc)).String(),
		ServiceName:        observed.serviceName(mc),
	}
	for _, pod := range facts.nodes {
		status.Nodes = append(status.Nodes, pod.Name)
	}
	if facts.workload != nil {
		if !facts.rollout.templateUnobserved && !facts.TemplatePending {
			status.UpdatedReplicas = facts.workload.updated
		}
		status.Image = plain(facts.workload.image()) // somebody else may have changed it
	}
	status.Conditions = conditions(mc, facts, now)
	return status
}

// facts are what the conditions are computed from.
type facts struct {
	Outcome

	size int32
	// accepted is how many nodes the workload asks for: another number than size if a new size was not written.
	accepted int32
	// required is how many nodes must be ready for the cache to be available; available says whether it is.
	required  int32
	available bool
	// nodes are sorted by name; ready is how many of them are ready.
	nodes []*corev1.Pod
	ready int32
	// workload belongs to the Memcached; nil if there is none.
	workload *workload
	// podProblem is what is wrong with the pods, or what prevents their creation.
	podProblem *Problem
	// rollout is what the cluster is doing.
	rollout rolloutState
	// staleDefaults says which defaults the next rollout will adopt, empty if the nodes have them.
	staleDefaults string
}

func factsOf(mc *cachev1alpha1.Memcached, observed Observed, outcome Outcome, opts Options) facts {
	w := observed.workloadOf(mc)
	f := facts{Outcome: outcome, size: mc.Spec.Size, accepted: mc.Spec.Size, workload: w, nodes: w.nodes(observed.Pods)}
	for _, pod := range f.nodes {
		if podReady(pod) {
			f.ready++
		}
	}
	if w != nil {
		f.accepted = w.size
		f.TemplatePending = outcome.TemplatePending ||
			outcome.heldBack(mc) && w.GetAnnotations()[templateHashAnnotation] != templateHash(mc, opts)
	}
	f.required = required(mc, f.accepted)
	f.available = f.ready >= f.required || stillAvailable(mc, f.ready)
	f.podProblem = podProblemOf(w, f.nodes)
	if w != nil && f.podProblem == nil && f.ready < f.accepted {
		f.podProblem = podFailed(w, observed.Pods, f.accepted-int32(len(f.nodes))) //nolint:gosec // see Status
	}
	f.rollout = rolloutStateOf(w, f.size, templateObserved(mc, findWorkload(observed.before), w))
	f.staleDefaults = staleDefaults(mc, w, opts)
	return f
}

// unwritten reports whether the workload is not the one that the spec asks for: its pods are others, or another number.
func (f facts) unwritten() bool {
	return f.workload != nil && (f.accepted != f.size || f.TemplatePending)
}

// required is how many nodes must be ready: what a rollout leaves of the size that the cluster has accepted, since nodes that
// it was never asked for are not lost, and of the size that the spec asks for, since no more are wanted. A cache without a
// node is not available, however many may be replaced at once.
func required(mc *cachev1alpha1.Memcached, accepted int32) int32 {
	judged := *mc
	judged.Spec.Size = min(mc.Spec.Size, accepted)
	return max(requiredReady(&judged), min(mc.Spec.Size, 1))
}

// stillAvailable reports whether the cache was available and no node has been lost since. The nodes that more are required of are
// those that a new size adds, and which start or are refused: they were never there.
func stillAvailable(mc *cachev1alpha1.Memcached, ready int32) bool {
	return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionAvailable) &&
		ready >= max(mc.Status.ReadyReplicas, 1)
}
