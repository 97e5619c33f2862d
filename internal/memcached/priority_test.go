// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"errors"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
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
		mc := makeCache(3)
		mc.Spec.Scheduling.PriorityClassName = class
		objects, err := Desired(mc, Observed{}, Options{DefaultImage: defaultImage})
		var invalid *InvalidError
		if errors.As(err, &invalid) != refused {
			t.Errorf("%q is answered with %v", class, err)
		}
		if invalid != nil && (invalid.Reason != cachev1alpha1.ReasonInvalidSpec || len(objects) != 3 ||
			!strings.HasPrefix(invalid.Message, "spec.scheduling.priorityClassName is "+class)) {
			t.Errorf("%q: %s: %s", class, invalid.Reason, invalid.Message)
		}
		if _, err := Desired(mc, Observed{}, Options{DefaultImage: defaultImage, AllowSystemPriorityClasses: true}); err != nil {
			t.Errorf("%q is allowed and answered with %v", class, err)
		}
	}
}
