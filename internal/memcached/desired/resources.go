// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// resourcesOf returns container resources with the memory limit from the spec, or else the default limit, if any. A limit without a request
// also becomes the request, as in the API server. For memory this matters, because a cluster node without free memory first kills pods that
// use more than they request.
func resourcesOf(wanted cachev1alpha1.MemcachedResources, defaultLimit string) corev1.ResourceRequirements {
	memoryLimit, given := givenLimit(wanted)
	if !given {
		memoryLimit = resource.MustParse(cmp.Or(defaultLimit, "0"))
	}
	resources := corev1.ResourceRequirements{Limits: rounded(wanted.Limits), Requests: rounded(wanted.Requests)}
	resources.Limits[corev1.ResourceMemory] = roundedUp(corev1.ResourceMemory, memoryLimit)
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = limit
		}
	}
	return resources
}

// givenLimit returns the memory limit in the spec, or else the memory request. given is false if the spec has neither.
func givenLimit(wanted cachev1alpha1.MemcachedResources) (limit resource.Quantity, given bool) {
	if limit, given = wanted.Limits[corev1.ResourceMemory]; !given {
		limit, given = wanted.Requests[corev1.ResourceMemory]
	}
	return limit, given
}

// threadCount returns the number of memcached's worker threads: the number in the spec, or else the CPU limit rounded up, 64 at most. More
// threads than CPUs would only wait for each other. If the spec has neither, threadCount returns withoutLimit.
func threadCount(inSpec int32, wanted cachev1alpha1.MemcachedResources, withoutLimit int32) int32 {
	const most = 64
	cpu, limited := wanted.Limits[corev1.ResourceCPU]
	switch {
	case inSpec != 0:
		return inSpec
	case limited:
		return int32(min(max(cpu.Value(), 1), most))
	default:
		return withoutLimit
	}
}

// rounded rounds quantities so that the API server stores them unchanged. Otherwise, each reconcile would find a difference, and
// update the object.
func rounded(list corev1.ResourceList) corev1.ResourceList {
	result := make(corev1.ResourceList, len(list))
	for name, quantity := range list {
		result[name] = roundedUp(name, quantity)
	}
	return result
}

// roundedUp rounds CPU up to thousandths and other quantities up to whole numbers. The API server warns about fractions of a byte.
func roundedUp(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	result := quantity.DeepCopy()
	result.RoundUp(scale)
	return result
}
