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
	"github.com/example/memcached-operator/internal/rollout"
)

// facts are the input of the conditions.
type facts struct {
	memcached.View // after the write
	memcached.Written

	plan memcached.Plan
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
	// rollout is the progress of a change of the nodes.
	rollout rolloutState
	// held are the changes that a pause holds back.
	held []string
}

func factsOf(before memcached.View, plan memcached.Plan, written memcached.Written) facts {
	v := before.After(written.Objects)
	mc, w := v.Memcached, v.Workload
	if !memcached.IsStatefulSet(mc) {
		plan.Effect = memcached.ReplacesPod
	}
	f := facts{View: v, Written: written, plan: plan, size: mc.Spec.Size}
	if f.plan.Rollout.Waits == rollout.WaitMemory {
		f.plan.Rollout.Words += ". " + f.toReplace()
	}
	owned, orphans := w.Nodes(v.Pods), v.Orphans()
	f.nodes = slices.Concat(owned, orphans)
	f.ready = readyNodes(f.nodes)
	f.accepted = f.size
	if w != nil {
		f.accepted = w.Size
		f.TemplatePending = written.TemplatePending || written.HeldBack(v) && memcached.RecordOf(w).Template != plan.Record.Template
	}
	f.required = required(mc, plan, f.accepted)
	f.available = f.ready >= f.required || stillAvailable(v.Last, f.ready)
	f.discoverable = memcached.Discoverable(v.Children, memcached.SelectorLabels(mc))
	f.rollout = f.rolloutAfter(before.Workload)
	f.podProblem = cmp.Or(plan.Refused, f.problemOf(owned), f.problemOfOrphans(orphans))
	if mc.Spec.Paused {
		f.held = f.heldBack()
	}
	return f
}

// newer describes the newer defaults or helpers that new pods get, or returns "" if the nodes have them already.
func (f facts) newer() string {
	switch {
	case f.plan.StaleDefaults != "":
		return fmt.Sprintf("The operator's defaults are now %s; the next rollout adopts them. To roll out now: %s", f.plan.StaleDefaults,
			restartCommand(f.Memcached))
	case f.plan.Older > 0:
		return fmt.Sprintf("%d of %d nodes have older helpers or defaults of the operator; new pods get the present ones. %s",
			f.plan.Older, f.size, f.toReplace())
	default:
		return ""
	}
}

// toReplace names the command that replaces the nodes of a StatefulSet, and its cost.
func (f facts) toReplace() string {
	return fmt.Sprintf("To replace the nodes now, %s: %s", f.itemsLeft(), restartCommand(f.Memcached))
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

// unwritten reports whether the workload has another size or pod template than the spec asks for, or has nodes that need steps. No step is
// taken while there is a problem of the plan or the write.
func (f facts) unwritten() bool {
	return f.Workload != nil && (f.accepted != f.size || f.TemplatePending || f.plan.Rollout.Outdated > 0)
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
