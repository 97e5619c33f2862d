// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Outcome is what became of writing the desired objects.
type Outcome struct {
	// Problem is what kept an object from being written; nil if nothing did.
	Problem *Problem
	// Waiting says which object must be gone before another can take its name; empty if none.
	Waiting string
	// Pending are the kinds of the objects that spec.paused keeps from being written, one for each.
	Pending []string
	// TemplatePending reports that the pod template is not as desired, since the write of it was held back or
	// refused. Status finds out by itself if the spec is the cause, but not if somebody else changed the template.
	TemplatePending bool
}

// heldBack reports whether something that is desired may not have been written.
func (o Outcome) heldBack(mc *cachev1alpha1.Memcached) bool {
	return o.Problem != nil || o.Waiting != "" || mc.Spec.Paused || mc.DeletionTimestamp != nil
}

// Problem is something that prevents the desired state.
type Problem struct {
	// Reason is a reason of the Degraded condition.
	Reason string
	// Message says in words what is wrong and, where it is known, what helps.
	Message string
}

// RefusalReason is the reason of the Degraded condition for the message with which the API server refuses an object.
func RefusalReason(message string) string {
	switch {
	case strings.Contains(message, "exceeded quota"),
		strings.Contains(message, "failed quota"),
		strings.Contains(message, "status unknown for quota"),
		strings.Contains(message, "insufficient quota"):
		return cachev1alpha1.ReasonQuotaExceeded
	case strings.Contains(message, "violates PodSecurity"),
		strings.Contains(message, "admission webhook"),
		strings.Contains(message, "failed calling webhook"),
		strings.Contains(message, "denied request: "), // ValidatingAdmissionPolicy and MutatingAdmissionPolicy
		strings.Contains(message, "unable to validate against any security context constraint"),
		// LimitRange, PriorityClass, ServiceAccount and other admission; a lack of permissions names the user.
		strings.Contains(message, "is forbidden: ") && !strings.Contains(message, `User "`) &&
			!strings.Contains(message, "not yet ready to handle request"): // an API server that starts
		return cachev1alpha1.ReasonAdmissionDenied
	default:
		return cachev1alpha1.ReasonApplyFailed
	}
}
