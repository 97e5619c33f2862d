// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// resources has the memory limit that is given or computed. What has a limit and no request is requested as much as it is
// limited. For memory that is a must, since memory that is promised but not there means a killed node, and a lost share of
// the cache; for the others it is what the API server makes of pods, written out so that it is seen and stays.
func resources(mc *cachev1alpha1.Memcached, defaults podDefaults) corev1.ResourceRequirements {
	wanted := mc.Spec.Resources
	resources := corev1.ResourceRequirements{Limits: rounded(wanted.Limits), Requests: rounded(wanted.Requests)}
	limit, given := givenMemoryLimit(mc)
	if !given && defaults.MemoryLimit != "" {
		limit = resource.MustParse(defaults.MemoryLimit)
	}
	resources.Limits[corev1.ResourceMemory] = roundedUp(corev1.ResourceMemory, limit)
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = limit
		}
	}
	return resources
}

// rounded is a list as the API server stores it: it rounds every quantity up to thousandths. If we applied something
// else, each reconcile would find a difference and write.
func rounded(list corev1.ResourceList) corev1.ResourceList {
	result := make(corev1.ResourceList, len(list))
	for name, quantity := range list {
		result[name] = roundedUp(name, quantity)
	}
	return result
}

// roundedUp rounds CPU up to thousandths and bytes to whole ones: the API server warns of thousandths of a byte.
func roundedUp(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	result := quantity.DeepCopy()
	result.RoundUp(scale)
	return result
}

// checkMemoryLimit refuses a limit that is given for pods that change, and is too small.
func checkMemoryLimit(mc *cachev1alpha1.Memcached, changed bool) *memcached.Problem {
	limit, given := givenMemoryLimit(mc)
	if !given || !changed {
		return nil
	}
	if err := sizingOf(mc).check(limit); err != nil {
		return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidResources, Message: err.Error()}
	}
	return nil
}
