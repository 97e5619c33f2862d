// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written is the result of writing a Plan.
type Written struct {
	// Objects are the Memcached's objects after the write. The View holds the objects as they were before the write.
	Objects []client.Object
	// Problem is why an object could not be written, or nil.
	Problem *Problem
	// Waiting names an object that must disappear before a new one can have its name, or is empty.
	Waiting string
	// Pending are the kinds of objects that spec.paused keeps from being written.
	Pending []string
	// TemplatePending reports that the workload lacks the desired pod template, because its write was held back or refused. The
	// hashes on the workload do not show that if somebody else has changed the template.
	TemplatePending bool

	// Created reports that an object was created, Changed that one was created, changed or deleted.
	Created, Changed bool
	// Err is the error to return from the reconcile, or nil. A terminal error is not retried: only another spec can help.
	Err error
	// Transient reports that the API server failed to decide about some objects. A retry may succeed soon.
	Transient bool
	// RetryAfter is when to reconcile again without an event, 0 for never.
	RetryAfter time.Duration
}

// HeldBack reports whether some desired objects may not have been written.
func (w Written) HeldBack(v View) bool {
	return w.Problem != nil || w.Waiting != "" || v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil
}
