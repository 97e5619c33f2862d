// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

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
	workload *memcached.Workload
	// podProblem is what is wrong with the pods, or what prevents their creation.
	podProblem *Problem
	// rollout is what the cluster is doing.
	rollout rolloutState
	// staleDefaults says which defaults the next rollout will adopt, empty if the nodes have them.
	staleDefaults string
	// held are the changes that a pause holds back, in words.
	held []string
}

func factsOf(mc *cachev1alpha1.Memcached, observed memcached.Observed, desired memcached.Desired, outcome Outcome) facts {
	w := observed.Workload(mc)
	f := facts{Outcome: outcome, size: mc.Spec.Size, accepted: mc.Spec.Size, workload: w, nodes: w.Nodes(observed.Pods)}
	for _, pod := range f.nodes {
		if memcached.PodReady(pod) {
			f.ready++
		}
	}
	if w != nil {
		f.accepted = w.Size
		f.TemplatePending = outcome.TemplatePending ||
			outcome.heldBack(mc) && w.TemplateHash() != desired.TemplateHash
	}
	f.required = required(mc, desired, f.accepted)
	f.available = f.ready >= f.required || stillAvailable(mc, f.ready)
	f.podProblem = podProblemOf(w, f.nodes)
	if w != nil && f.podProblem == nil && f.ready < f.accepted {
		f.podProblem = podFailed(w, observed.Pods, f.accepted-int32(len(f.nodes))) //nolint:gosec // see For
	}
	f.rollout = rolloutStateOf(w, f.size, templateObserved(mc, observed.Unwritten(), w))
	f.staleDefaults = desired.StaleDefaults
	if mc.Spec.Paused {
		f.held = heldBack(outcome, desired)
	}
	return f
}

// unwritten reports whether the workload is not the one that the spec asks for: its pods are others, or another number.
func (f facts) unwritten() bool {
	return f.workload != nil && (f.accepted != f.size || f.TemplatePending)
}

// required is how many nodes must be ready: what a rollout leaves of the size that the cluster has accepted, since nodes that
// it was never asked for are not lost, and of the size that the spec asks for, since no more are wanted. A cache without a
// node is not available, however many may be replaced at once.
func required(mc *cachev1alpha1.Memcached, desired memcached.Desired, accepted int32) int32 {
	return max(requiredReady(min(mc.Spec.Size, accepted), desired), min(mc.Spec.Size, 1))
}

// requiredReady is the number of ready nodes that a rollout leaves of so many at least, as the Deployment controller computes it:
// percentages of maxUnavailable are rounded down, those of maxSurge up, and if both come to 0, one may be unavailable.
func requiredReady(size int32, desired memcached.Desired) int32 {
	extra, surgeErr := intstr.GetScaledValueFromIntOrPercent(&desired.MaxSurge, int(size), true)
	missing, err := intstr.GetScaledValueFromIntOrPercent(&desired.MaxUnavailable, int(size), false)
	if err != nil || surgeErr != nil {
		missing = 0
	} else if extra == 0 && missing == 0 {
		missing = 1
	}
	return int32(max(int(size)-missing, 0)) //nolint:gosec // at most size
}

// stillAvailable reports whether the cache was available and no node has been lost since. The nodes that more are required of are
// those that a new size adds, and which start or are refused: they were never there.
func stillAvailable(mc *cachev1alpha1.Memcached, ready int32) bool {
	return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionAvailable) &&
		ready >= max(mc.Status.ReadyReplicas, 1)
}
