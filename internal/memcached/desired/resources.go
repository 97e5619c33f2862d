// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// resources returns the resources of the memcached container, with the memory limit from the spec or the defaults. The kernel kills
// a memcached that exceeds the limit, and its part of the cache is lost.
func resources(mc *cachev1alpha1.Memcached, defaults podDefaults) corev1.ResourceRequirements {
	limit, given := render.MemoryLimit(mc.Spec.Resources)
	if !given && defaults.MemoryLimit != "" {
		limit = resource.MustParse(defaults.MemoryLimit)
	}
	return render.Resources(mc.Spec.Resources, limit)
}

// checkMemoryLimit returns a problem if the spec sets a memory limit that is too small. Pods that do not change keep such a limit.
func checkMemoryLimit(mc *cachev1alpha1.Memcached, changed bool) *memcached.Problem {
	limit, given := render.MemoryLimit(mc.Spec.Resources)
	if !given || !changed {
		return nil
	}
	if err := sizingOf(mc).check(limit); err != nil {
		return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidResources, Message: err.Error()}
	}
	return nil
}
