// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// systemPriority is how the names of the classes begin that Kubernetes keeps for what a cluster cannot run without. All other
// pods must give way to theirs, budget or not.
const systemPriority = "system-"

// checkPriority refuses a class of the system, unless the installer allows them.
func checkPriority(mc *cachev1alpha1.Memcached, opts memcached.Options) *memcached.Problem {
	class := mc.Spec.Scheduling.PriorityClassName
	if opts.AllowSystemPriorityClasses || !strings.HasPrefix(class, systemPriority) {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: fmt.Sprintf(
		"spec.scheduling.priorityClassName is %s, whose pods take the place of all others: use a class of your own, or ask the "+
			"administrator to run the operator with --allow-system-priority-classes", class)}
}
