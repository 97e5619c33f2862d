// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// facts are the input of the conditions.
type facts struct {
	memcached.View // after the write
	memcached.Written

	size int32
	// accepted is the number of nodes that the workload asks for. It differs from spec.size if a new size was not written.
	accepted int32
	// required is how many nodes must be ready for the cache to become available. available reports that this many nodes are ready, or
	// that the cache is still available: see stillAvailable.
	required  int32
	available bool
	// discoverable reports whether a Service lets clients find the nodes.
	discoverable bool
	// nodes are the nodes of the workload, and then orphans. ready is the number of ready nodes.
	nodes []*corev1.Pod
	ready int32
	// podProblem is a problem of the pods, or why they cannot be created. It may be nil.
	podProblem *memcached.Problem
	// twinProblem is why nodes cannot get the items of their twin's nodes, or nil.
	twinProblem *memcached.Problem
	// rollout is the progress of a change of the nodes.
	rollout rolloutState
	// newer describes the newer defaults or rendering that the next pods get; empty if the nodes have them already.
	newer string
	// held are the changes that a pause holds back. cost describes what they will do to the nodes.
	held []string
	cost string
}

func factsOf(before memcached.View, plan memcached.Plan, written memcached.Written) facts {
	v := before.After(written.Objects)
	mc, w := v.Memcached, v.Workload
	f := facts{View: v, Written: written, size: mc.Spec.Size}
	owned, orphans := w.Nodes(v.Pods), v.Orphans()
	f.nodes = slices.Concat(owned, orphans)
	f.ready = readyNodes(f.nodes)
	f.accepted = f.size
	if w != nil {
		f.accepted = w.Size
		f.TemplatePending = written.TemplatePending || written.HeldBack(v) && !carriedOut(w, plan)
	}
	f.required = required(mc, plan, f.accepted)
	f.available = f.ready >= f.required || stillAvailable(v.Last, f.ready)
	f.discoverable = memcached.Discoverable(v.Children, memcached.SelectorLabels(mc))
	f.twinProblem = plan.Twins.Problem
	f.rollout = rolloutOf(before.Workload, v, plan)
	f.podProblem = cmp.Or(plan.Refused, f.problemOf(owned), f.problemOfOrphans(orphans))
	f.rollout = f.waiting(plan)
	f.newer = newer(mc, plan)
	if mc.Spec.Paused {
		f.held = f.heldBack(plan)
		effect := plan.Effect
		if f.TemplatePending && mc.Spec.Workload != cachev1alpha1.WorkloadStatefulSet {
			effect = memcached.ReplacesPod
		}
		if effect != memcached.NoEffect {
			f.cost, _ = costOf(v, plan, effect)
		}
	}
	return f
}

// carriedOut reports whether the workload has the template that the spec asks for.
func carriedOut(w *memcached.Workload, plan memcached.Plan) bool {
	if w.Kind == cachev1alpha1.WorkloadStatefulSet {
		asked, _ := memcached.AskedOf(w.Template.Annotations)
		return asked.Asked == plan.Target.Asked
	}
	return memcached.RecordOf(w).Template == plan.Record.Template
}

// newer describes the newer defaults or rendering that the next pods get, or returns "".
func newer(mc *cachev1alpha1.Memcached, plan memcached.Plan) string {
	switch {
	case plan.StaleDefaults != "":
		return fmt.Sprintf("The operator's defaults are now %s; the next rollout adopts them. To roll out now: %s", plan.StaleDefaults,
			restartCommand(mc))
	case plan.Older > 0 && plan.Rollout.Pending == 0:
		return fmt.Sprintf("%d of %d nodes run an older helper, rendering or default of the operator; new pods get the present one. "+
			"To replace them now: %s", plan.Older, mc.Spec.Size, restartCommand(mc))
	default:
		return ""
	}
}

// waiting returns the rollout with a message if it has exceeded the deadline.
func (f facts) waiting(plan memcached.Plan) rolloutState {
	rollout := f.rollout
	if rollout.reason == "" || !unwatched(f.View) {
		return rollout
	}
	rollout.deadlineMessage = overdue(f.View)
	if rollout.deadlineMessage != "" && plan.Rollout.Words != "" {
		rollout.deadlineMessage = plan.Rollout.Message()
	}
	return rollout
}

// problemOf returns what is wrong with the nodes of the workload, or why a node is missing. Without a problem, it returns nil.
func (f facts) problemOf(nodes []*corev1.Pod) *memcached.Problem {
	problem := PodProblem(f.Workload, f.Pods, f.Now)
	if f.Workload != nil && problem == nil && readyNodes(nodes) < f.accepted {
		return podFailed(f.Workload, f.Pods, f.accepted-int32(len(nodes))) //nolint:gosec // see For
	}
	return problem
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

// unwritten reports whether the workload has another size or pod template than the spec asks for.
func (f facts) unwritten() bool {
	return f.Workload != nil && (f.accepted != f.size || f.TemplatePending)
}

// required returns how many nodes must be ready for the cache to be available: the smaller of spec.size and accepted, minus the nodes
// that a rollout may stop. Unless spec.size is 0, it is at least one.
func required(mc *cachev1alpha1.Memcached, plan memcached.Plan, accepted int32) int32 {
	return max(requiredReady(min(mc.Spec.Size, accepted), plan), min(mc.Spec.Size, 1))
}

// requiredReady returns how many of size nodes must stay ready during a rollout. As for the Deployment controller, a percentage is rounded
// down, but one above 0% lets at least one node be unavailable.
func requiredReady(size int32, plan memcached.Plan) int32 {
	missing, err := intstr.GetScaledValueFromIntOrPercent(&plan.MaxUnavailable, int(size), false)
	if limit := plan.MaxUnavailable.String(); err != nil {
		missing = 0
	} else if missing == 0 && limit != "0" && limit != "0%" {
		missing = 1
	}
	return int32(max(int(size)-missing, 0)) //nolint:gosec // at most size
}

// stillAvailable reports whether the last status was Available and no ready node has been lost since. After spec.size has grown,
// nodes that were never ready do not count as lost.
func stillAvailable(last memcached.Last, ready int32) bool {
	return last.IsTrue(cachev1alpha1.ConditionAvailable) && ready >= max(last.Ready, 1)
}
