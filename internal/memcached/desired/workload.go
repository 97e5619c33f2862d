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

// Workload runs the nodes, and the record says what they are made from. The problem is nil, or that the memory limit is too small
// for these pods, the PriorityClass is not for caches, or the image of the agent is not known. A limit that pods already run with is
// not questioned again: a stricter model of a later version must not take a running cache away.
func Workload(v memcached.View, opts memcached.Options) (client.Object, cachev1alpha1.MemcachedRecord, *memcached.Problem) {
	mc := v.Memcached
	hash := templateHash(mc, opts)
	defaults, adopted := decideDefaults(v, opts, hash)
	record := cachev1alpha1.MemcachedRecord{
		Workload: memcached.WorkloadKind(mc), TemplateHash: hash, RestartedAt: restartedAt(mc), Defaults: defaults,
	}
	problem := memcached.CheckPriority(mc.Spec.Scheduling, opts).And(checkMemoryLimit(mc, adopted)).And(checkAgentImage(mc, defaults))
	metadata := metav1.ObjectMeta{
		Name:        mc.Name,
		Namespace:   mc.Namespace,
		Labels:      labelsOf(mc, nil),
		Annotations: memcached.RecordAnnotations(record),
	}
	size, template := moveIn(v), render.WithAPIDefaults(podTemplate(mc, opts, defaults))
	if isStatefulSet(mc) {
		return statefulSet(mc, metadata, size, template), record, problem
	}
	return deployment(mc, metadata, size, template), record, problem
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
