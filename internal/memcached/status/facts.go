// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

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
	// discoverable says whether a Service leads clients to the nodes.
	discoverable bool
	// nodes are sorted by name; ready is how many of them are ready.
	nodes []*corev1.Pod
	ready int32
	// workload belongs to the Memcached; nil if there is none. Former is the one that the nodes leave for it, nil if they do not move.
	workload, former *memcached.Workload
	// podProblem is what is wrong with the pods, or what prevents their creation.
	podProblem *Problem
	// rollout is what the cluster is doing.
	rollout rolloutState
	// staleDefaults says which defaults the next rollout will adopt, empty if the nodes have them.
	staleDefaults string
	// held are the changes that a pause holds back, in words.
	held []string
}

func factsOf(
	mc *cachev1alpha1.Memcached, observed memcached.Observed, desired memcached.Desired, outcome Outcome, now time.Time,
) facts {
	w, former := observed.Workload(mc), observed.Former(mc)
	f := facts{Outcome: outcome, size: mc.Spec.Size, workload: w, former: former}
	owned, orphans := append(w.Nodes(observed.Pods), former.Nodes(observed.Pods)...), observed.Orphans()
	f.nodes = slices.Concat(owned, orphans)
	f.ready = readyNodes(f.nodes)
	f.accepted = askedFor(f.size, w, former)
	if w != nil {
		f.TemplatePending = outcome.TemplatePending ||
			outcome.heldBack(mc) && w.TemplateHash() != desired.Record.TemplateHash
	}
	f.required = required(mc, desired, f.accepted)
	f.available = f.ready >= f.required || stillAvailable(mc, f.ready)
	f.discoverable = observed.Discoverable(mc)
	f.rollout = rolloutOf(mc, observed, w, former)
	f.podProblem = cmp.Or(f.problemOf(owned, observed.Pods, now), f.problemOfOrphans(mc, orphans))
	if w != nil && f.rollout.reason != "" && unwatched(w, former) {
		f.rollout.deadlineMessage = overdue(mc, w, observed.Pods, now)
	}
	f.staleDefaults = desired.StaleDefaults
	if mc.Spec.Paused {
		f.held = heldBack(outcome, desired)
	}
	return f
}

// problemOf is what is wrong with the nodes of the workloads, or why one is missing.
func (f facts) problemOf(nodes []*corev1.Pod, pods []corev1.Pod, now time.Time) *Problem {
	problem := cmp.Or(podProblemOf(f.workload, pods, now), podProblemOf(f.former, pods, now))
	if latest := cmp.Or(f.workload, f.former); latest != nil && problem == nil && readyNodes(nodes) < f.accepted {
		return podFailed(latest, pods, f.accepted-int32(len(nodes))) //nolint:gosec // see For
	}
	return problem
}

// askedFor is how many nodes the cluster was asked for. During a move there may be one more than are wanted.
func askedFor(size int32, w, former *memcached.Workload) int32 {
	switch {
	case w == nil && former == nil:
		return size
	case former == nil:
		return w.Size
	case w == nil:
		return former.Size
	default:
		return min(size, w.Size+former.Size)
	}
}

func readyNodes(nodes []*corev1.Pod) int32 {
	ready := int32(0)
	for _, node := range nodes {
		if memcached.PodReady(node) {
			ready++
		}
	}
	return ready
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
