// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

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
	// size is spec.size, and total is how many nodes all copies have then.
	size, total int32
	// accepted is the number of nodes that the workloads ask for. It differs from spec.size if a new size was not written.
	accepted int32
	// required is how many nodes of a copy must be ready for the cache to become available. available reports that for so many numbers a
	// node of some copy is ready, or that the cache is still available: see stillAvailable.
	required  int32
	available bool
	// discoverable reports whether a Service lets clients find the nodes.
	discoverable bool
	// nodes are the nodes of the first copy, and then orphans. others are the nodes of other copies. ready is the number of ready nodes.
	nodes, others []*corev1.Pod
	ready         int32
	// front are the facts about the proxies, as if they were nodes, or nil.
	front *facts
	// troubled reports that something is wrong with the pods, or that they cannot be created or changed.
	troubled bool
	// unobserved reports that it is not known what exists.
	unobserved bool
	// change is what happens to the nodes. templateUnobserved reports that the workload's controller may not have observed the pod template.
	// Its count of updated nodes may then be about an earlier template.
	change             change
	templateUnobserved bool
	// changing are the facts about those that change: f for nodes, front for proxies, nil if only the routes change.
	changing *facts
	// held are the changes that a pause holds back.
	held []string
}

// explain adds what the plan does not know: the command that replaces nodes, and that an eviction was refused.
func (f *facts) explain(plan *rollout.Plan) {
	if plan.Waits == rollout.WaitMemory {
		plan.Words += ". " + f.toReplace()
	}
	if len(plan.Steps) > 0 && f.Kept != "" {
		plan.Waits, plan.Waiting, plan.Words, plan.Steps = rollout.WaitBudget, plan.Steps[0].Node, "its eviction is refused: "+f.Kept, nil
	}
}

func factsOf(before memcached.View, plan memcached.Plan, written memcached.Written) *facts {
	v := before.After(written.Objects)
	mc, w := v.Memcached, v.Workload
	if !memcached.IsStatefulSet(mc) {
		plan.Effect = memcached.ReplacesPod
	}
	f := &facts{View: v, Written: written, plan: plan, size: mc.Spec.Size, total: mc.Spec.Size * int32(len(v.Workloads))} //nolint:gosec // 3
	f.explain(&f.plan.Rollout)
	f.nodes = slices.Concat(w.Nodes(v.Pods), v.Orphans())
	f.others = v.Nodes()[len(w.Nodes(v.Pods)):]
	f.ready = readyNodes(f.nodes) + readyNodes(f.others)
	f.accepted = acceptedSize(v)
	if w != nil {
		f.TemplatePending = written.TemplatePending || written.HeldBack(v) && memcached.RecordOf(w).Template != plan.Record.Template
	}
	accepted := f.accepted
	if len(v.Workloads) > 1 { // numbers that no node has served yet are not lost
		accepted = min(accepted, int32(len(f.KnownServers()))) //nolint:gosec // at most 1000
	}
	f.required = required(mc, plan, accepted)
	f.available = f.serving() >= f.required || len(v.Workloads) == 1 && stillAvailable(v.Last, f.ready)
	f.discoverable = memcached.Discoverable(v.Children, memcached.SelectorLabels(mc))
	f.templateUnobserved = !templateObserved(before.Workload, v)
	if f.front = frontOf(v); f.front != nil {
		f.front.troubled = f.front.podsTroubled()
	}
	f.change, f.changing = f.observeChange()
	f.troubled = plan.Refused != nil || f.podsTroubled()
	if mc.Spec.Paused {
		f.held = f.heldBack()
	}
	return f
}

// acceptedSize returns the size that the workloads ask for, another than spec.size if one of them does.
func acceptedSize(v memcached.View) int32 {
	for _, w := range v.Workloads {
		if w != nil && w.Size != v.Memcached.Spec.Size {
			return w.Size
		}
	}
	return v.Memcached.Spec.Size
}

// serving returns for how many numbers a node of some copy is ready.
func (f *facts) serving() int32 {
	if len(f.others) == 0 {
		return f.ready
	}
	numbers := map[int]bool{}
	for _, node := range slices.Concat(f.nodes, f.others) {
		if number, found := memcached.Ordinal(node); found && memcached.PodReady(node) {
			numbers[number] = true
		}
	}
	return int32(len(numbers)) //nolint:gosec // a thousand at most
}

// reported returns the problems of the write, the plan and the fills with this reason.
func (f *facts) reported(reason string) (words []string) {
	for _, problem := range []*memcached.Problem{f.Problem, f.plan.Refused, f.plan.Fills.Problem} {
		if problem != nil && problem.Reason == reason {
			words = append(words, problem.Message)
		}
	}
	return words
}

// podsTroubled reports that something is wrong with the pods, or that they cannot be created.
func (f *facts) podsTroubled() bool {
	return slices.ContainsFunc(table, func(r row) bool {
		return r.condition == degraded && r.status == is && r.look != nil && r.look(f) != ""
	})
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
func (f *facts) unwritten() bool {
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

func (f *facts) readyOf() string {
	if f.front != nil {
		return fmt.Sprintf("%d of %d nodes and %d of %d proxies are ready", f.ready, f.total, f.front.ready, f.front.size)
	}
	return fmt.Sprintf("%d of %d nodes are ready", f.ready, f.total)
}

// serving says that enough nodes are ready, and that clients find them.
func serving(f *facts) string {
	return when(f.available && f.discoverable && f.reachable(), "%s", f.readyOf())
}

func unreported(f *facts) string {
	unseen := f.Workload != nil && f.Workload.ObservedGeneration == 0 && len(f.nodes) == 0 && !f.troubled
	return when(f.unobserved || unseen, "The cluster has not reported on the nodes yet")
}

func unavailable(f *facts) string {
	switch {
	case !f.available && f.total > f.size:
		return f.readyOf() + fmt.Sprintf(", and of %d numbers one is needed", f.required)
	case !f.available:
		return f.readyOf() + fmt.Sprintf(", %d are needed", f.required)
	case f.discoverable && (f.front == nil || f.proxiesDiscoverable()):
		return f.readyOf() + ", and no proxy leads clients to them"
	default:
		return f.readyOf() + ", but no Service leads clients to them"
	}
}

func surplus(f *facts) string {
	exist := len(f.nodes) + len(f.others)
	return when(exist > int(f.total), "%d nodes exist, %d are wanted", exist, f.total)
}

func missing(f *facts) string {
	proxies := f.front != nil && f.size > 0 && (f.front.ready != f.front.size || len(f.front.nodes) != int(f.front.size))
	return when(f.ready != f.total || proxies || f.missed() != "", "%s%s", f.readyOf(), f.missed())
}

func filling(f *facts) string {
	return when(len(f.plan.Fills.Filling) > 0, "%s: the items of another copy come first to %s", f.readyOf(),
		strings.Join(f.plan.Fills.Filling, ", "))
}
