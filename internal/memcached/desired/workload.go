// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// nodes is the workload that runs the nodes, with all that was decided about them.
type nodes struct {
	workload client.Object
	// wave is about the arguments of a StatefulSet's nodes.
	wave memcached.Wave
	// twins is what they wait for and know about their twins.
	twins memcached.Twins
	// inPlace is about pods that change in place.
	inPlace memcached.InPlace
	// record says what the nodes are made from.
	record cachev1alpha1.MemcachedRecord
	// problem is nil, or that the memory limit is too small for these pods, the PriorityClass is not for caches, the image of the agent
	// is not known, or a node refuses its configuration.
	problem *memcached.Problem
}

// nodesOf decides about the nodes. A memory limit that pods already run with is not checked again: a later version with a stricter model
// must not stop a running cache.
func nodesOf(v memcached.View, opts memcached.Options) nodes {
	mc := v.Memcached
	hash := templateHash(mc, opts)
	defaults, changed := decideDefaults(v, opts, hash)
	n := nodes{
		record: cachev1alpha1.MemcachedRecord{
			Workload: memcached.WorkloadKind(mc), TemplateHash: hash, RestartedAt: restartedAt(mc), Defaults: defaults,
			RolloutRestartedAt: rolloutRestartedAt(v),
		},
		problem: memcached.CheckPriority(mc.Spec.Scheduling, opts).And(checkMemoryLimit(mc, changed)).And(checkAgentImage(mc, defaults)),
	}
	metadata := metav1.ObjectMeta{
		Name:        mc.Name,
		Namespace:   mc.Namespace,
		Labels:      labelsOf(mc, nil),
		Annotations: memcached.RecordAnnotations(n.record),
	}
	size, template := moveIn(v), podTemplate(mc, opts, defaults)
	if !isStatefulSet(mc) {
		n.workload = deployment(mc, metadata, size, render.WithAPIDefaults(template))
		return n
	}
	want := wanted{list: argumentList(mc, defaults), problem: n.problem}
	template, want.section = launched(template)
	want.inPlace = newInPlace(v, &template)
	turn := &turn{v: v}
	var refused *memcached.Problem
	n.wave, refused = arguments(v, want, turn)
	n.workload = statefulSet(mc, metadata, size, partitionOf(v, want.section, want.inPlace.Open, turn), render.WithAPIDefaults(template))
	if n.problem = n.problem.And(refused); n.problem == nil {
		want.inPlace.decide(&n.wave)
	}
	n.twins, n.inPlace = twinsOf(v, turn), want.inPlace.InPlace
	n.record.ArgumentsHash = recordedHash(v, n, want.list.Hash())
	return n
}

// recordedHash is the hash of the arguments that all nodes run with, empty during a wave. A pause or a problem leaves it as it is.
func recordedHash(v memcached.View, n nodes, hash string) string {
	switch {
	case n.problem == nil && !n.wave.Open:
		return hash
	case n.wave.Open && !v.Memcached.Spec.Paused, v.Last.Applied == nil:
		return ""
	default:
		return v.Last.Applied.ArgumentsHash
	}
}

func isStatefulSet(mc *cachev1alpha1.Memcached) bool {
	return memcached.WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet
}

// updateLimits are maxSurge and maxUnavailable. Every additional member remaps keys, and again when it leaves: nodes are
// replaced without a surge, unless there is only one. What the user gives is completed so that both are never 0.
func updateLimits(mc *cachev1alpha1.Memcached) (surge, unavailable intstr.IntOrString) {
	wanted := mc.Spec.UpdateStrategy
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	switch {
	case isStatefulSet(mc):
		return none, unavailableByName(wanted)
	case wanted.MaxSurge != nil && wanted.MaxUnavailable != nil:
		return *wanted.MaxSurge, *wanted.MaxUnavailable
	case wanted.MaxSurge != nil && isZero(*wanted.MaxSurge):
		return none, one
	case wanted.MaxSurge != nil:
		return *wanted.MaxSurge, none
	case wanted.MaxUnavailable != nil && isZero(*wanted.MaxUnavailable):
		return one, none
	case wanted.MaxUnavailable != nil:
		return none, *wanted.MaxUnavailable
	case mc.Spec.Size <= 1:
		return one, none
	default:
		return none, one
	}
}

// unavailableByName is maxUnavailable of a StatefulSet: a node must leave before another one can have its name.
func unavailableByName(wanted cachev1alpha1.MemcachedUpdateStrategy) intstr.IntOrString {
	if wanted.MaxUnavailable == nil || isZero(*wanted.MaxUnavailable) {
		return intstr.FromInt32(1)
	}
	return *wanted.MaxUnavailable
}

func isZero(value intstr.IntOrString) bool {
	return value.String() == "0" || value.String() == "0%"
}
