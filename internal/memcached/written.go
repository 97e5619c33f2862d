// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written is what became of a Plan.
type Written struct {
	// Objects are the live objects that belong to the Memcached. The View has them as they were before.
	Objects []client.Object
	// Problem is what kept an object from being written; nil if nothing did.
	Problem *Problem
	// Waiting says which object must be gone before another can take its name; empty if none.
	Waiting string
	// Pending are the kinds of the objects that spec.paused keeps from being written, one for each.
	Pending []string
	// TemplatePending reports that the pod template is not as desired, since the write of it was held back or
	// refused. Status finds out by itself if the spec is the cause, but not if somebody else changed the template.
	TemplatePending bool

	// Created reports that an object was created, Changed that one was created, changed or deleted.
	Created, Changed bool
	// Err is what is tried again; a terminal error if only another spec can help, nil if nothing failed.
	Err error
	// Transient reports that the API server did not decide about some of the objects, so that soon more will be known.
	Transient bool
	// RetryAfter is when to look again at what no watch reports, 0 for never.
	RetryAfter time.Duration
}

// HeldBack reports whether something that is desired may not have been written.
func (w Written) HeldBack(v View) bool {
	return w.Problem != nil || w.Waiting != "" || v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil
}
