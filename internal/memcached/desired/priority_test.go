// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestSystemPriorityClassesAreTheInstallersDecision checks that system classes are refused unless the installer allows them. Pods with
// such a class preempt all other pods.
func TestSystemPriorityClassesAreTheInstallersDecision(t *testing.T) {
	for class, refused := range map[string]bool{
		"":                        false,
		"high":                    false,
		"my-system-":              false,
		"system":                  false,
		"system-cluster-critical": true,
		"system-node-critical":    true,
		"system-of-ours":          true,
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Scheduling.PriorityClassName = class
		opts := memcached.Options{DefaultImage: memcachedtest.DefaultImage}
		plan := For(memcachedtest.View(mc, memcached.Observed{}), opts)
		problem := plan.Problem
		if (problem != nil) != refused {
			t.Errorf("%q is answered with %v", class, problem)
		}
		if problem != nil && (problem.Reason != cachev1alpha1.ReasonInvalidSpec || len(plan.Objects) != 3 ||
			!strings.HasPrefix(problem.Message, "spec.scheduling.priorityClassName is "+class)) {
			t.Errorf("%q: %s: %s", class, problem.Reason, problem.Message)
		}
		opts.AllowSystemPriorityClasses = true
		if allowed := For(memcachedtest.View(mc, memcached.Observed{}), opts); allowed.Problem != nil {
			t.Errorf("%q is allowed and answered with %v", class, allowed.Problem)
		}
	}
}
