// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written is what became of a Plan.
type Written struct {
	// Objects are the Memcached's live objects after the write. The View has them from before.
	Objects []client.Object
	// Problem is what kept an object from being written; nil if nothing did.
	Problem *Problem
	// Waiting says which object must be gone before another can take its name; empty if none.
	Waiting string
	// Pending are the kinds of objects that spec.paused keeps from being written, each once.
	Pending []string
	// TemplatePending reports that the pod template is not as desired, because its write was held back or refused. If the spec is
	// the cause, the status sees that itself, but not if somebody else changed the template.
	TemplatePending bool

	// Created reports that an object was created, Changed that one was created, changed or deleted.
	Created, Changed bool
	// Err is the error to retry; a terminal error if only another spec can help, nil if nothing failed.
	Err error
	// Transient reports that the API server could not decide about some objects, so more will be known soon.
	Transient bool
	// RetryAfter is when to look again without an event, 0 for never.
	RetryAfter time.Duration
}

// HeldBack reports whether something that is desired may not have been written.
func (w Written) HeldBack(v View) bool {
	return w.Problem != nil || w.Waiting != "" || v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil
}
