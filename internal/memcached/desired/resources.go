// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// checkMemoryLimit returns a problem if the spec sets a memory limit that is too small. Pods that do not change keep such a limit.
func checkMemoryLimit(mc *cachev1alpha1.Memcached, changed bool) *memcached.Problem {
	limit, given := render.MemoryLimit(mc.Spec.Resources)
	if !given || !changed {
		return nil
	}
	if err := sizingOf(mc).check(limit); err != nil {
		return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: err.Error()}
	}
	return nil
}
