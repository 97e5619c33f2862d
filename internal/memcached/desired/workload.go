// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// nodes is the workload that runs the nodes, and all decisions about the nodes.
type nodes struct {
	workload client.Object
	wave     memcached.Wave
	twins    memcached.Twins
	inPlace  memcached.InPlace
	// record says from which spec and defaults the workload is written.
	record cachev1alpha1.MemcachedRecord
	// problem is nil, or combines one or more of these: a memory limit that is too small, a PriorityClass that is not allowed, an
	// unknown image of the agent, or a node that refuses its configuration.
	problem *memcached.Problem
}

// nodesOf decides about the nodes. It does not check the memory limit of running pods again. A later version of the operator may
// compute a higher minimum, but must not stop a running cache.
func nodesOf(v memcached.View, opts memcached.Options) nodes {
	mc := v.Memcached
	hash := templateHash(mc, opts)
	defaults, changed := decideDefaults(v, opts, hash)
	n := nodes{
		record: cachev1alpha1.MemcachedRecord{
			TemplateHash: hash, RestartedAt: restartedAt(mc), Defaults: defaults,
			RolloutRestartedAt: rolloutRestartedAt(v),
		},
		problem: memcached.CheckPriority(mc.Spec.Scheduling, opts).And(checkMemoryLimit(mc, changed)),
	}
	record := memcached.Record{Template: hash, MemcachedDefaults: defaults}
	template := podTemplate(mc, opts, defaults)
	if !memcached.IsStatefulSet(mc) {
		surge, unavailable := updateLimits(mc)
		n.workload = role(mc).Deployment(record, mc.Spec.Size, mc.Spec.UpdateStrategy.MinReadySeconds, surge, unavailable, template)
		return n
	}
	n.problem = n.problem.And(memcached.CheckAgentImage("spec.workload StatefulSet", defaults.Images[memcached.AgentContainerName]))
	want := wanted{list: argumentList(mc), problem: n.problem}
	template, want.section = launched(template)
	want.inPlace = newInPlace(v, &template)
	guard := &twinGuard{v: v}
	var refused *memcached.Problem
	n.wave, refused = arguments(v, want, guard)
	n.workload = statefulSet(mc, record, rollingUpdate(v, want.section, want.inPlace.Open, guard), template)
	if n.problem = n.problem.And(refused); n.problem == nil {
		want.inPlace.decide(&n.wave)
	}
	n.twins, n.inPlace = twinsOf(v, guard), want.inPlace.InPlace
	n.recordArguments(v, want.list.Hash())
	return n
}

// recordArguments records the hash of the argument list that all nodes run, or no hash during a wave. While a wave is paused, or a problem
// keeps a wave from starting, it repeats the hash and restartedAt of the last record, because no further node gets the new list.
func (n *nodes) recordArguments(v memcached.View, hash string) {
	last := v.Last.Applied
	switch {
	case n.problem == nil && !n.wave.Open:
		n.record.ArgumentsHash = hash
	case last != nil && (!n.wave.Open || v.Memcached.Spec.Paused):
		n.record.ArgumentsHash, n.record.RestartedAt = last.ArgumentsHash, last.RestartedAt
	}
}

// updateLimits returns the workload's maxSurge and maxUnavailable, which are never both 0. An additional node remaps keys when it joins
// and when it leaves. So the default is no surge, unless there is only one node.
func updateLimits(mc *cachev1alpha1.Memcached) (surge, unavailable intstr.IntOrString) {
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	unavailable = ptr.Deref(mc.Spec.UpdateStrategy.MaxUnavailable, one)
	if mc.Spec.UpdateStrategy.MaxUnavailable == nil && mc.Spec.Size <= 1 {
		unavailable = none
	}
	switch {
	case !isZero(unavailable):
		return none, unavailable
	case memcached.IsStatefulSet(mc): // a node must stop before its replacement can have the same name
		return none, one
	default:
		return one, none
	}
}

func isZero(value intstr.IntOrString) bool {
	return value.String() == "0" || value.String() == "0%"
}
