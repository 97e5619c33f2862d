// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// Pods of others are evicted for those of the classes of the system: an installer decides who has them.
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
		desired, err := For(mc, memcached.Observed{}, memcached.Options{DefaultImage: memcachedtest.DefaultImage})
		var invalid *InvalidError
		if errors.As(err, &invalid) != refused {
			t.Errorf("%q is answered with %v", class, err)
		}
		if invalid != nil && (invalid.Reason != cachev1alpha1.ReasonInvalidSpec || len(desired.Objects) != 3 ||
			!strings.HasPrefix(invalid.Message, "spec.scheduling.priorityClassName is "+class)) {
			t.Errorf("%q: %s: %s", class, invalid.Reason, invalid.Message)
		}
		if _, err := For(mc, memcached.Observed{}, memcached.Options{DefaultImage: memcachedtest.DefaultImage, AllowSystemPriorityClasses: true}); err != nil {
			t.Errorf("%q is allowed and answered with %v", class, err)
		}
	}
}
