// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// systemPriority is the prefix of the PriorityClasses for Kubernetes' own components. Pods with such a class preempt all other
// pods, regardless of disruption budgets.
const systemPriority = "system-"

// CheckPriority returns a problem if the PriorityClass is a system class, unless the administrator allows such classes.
func CheckPriority(scheduling cachev1alpha1.MemcachedScheduling, opts Options) *Problem {
	class := scheduling.PriorityClassName
	if opts.AllowSystemPriorityClasses || !strings.HasPrefix(class, systemPriority) {
		return nil
	}
	return &Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: "spec.scheduling.priorityClassName is " + class +
		", whose pods take the place of all others: use a class of your own, or ask the administrator to run the operator with " +
		"--allow-system-priority-classes"}
}
