// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written is the result of writing a Plan.
type Written struct {
	// Objects are the desired objects as they exist after the write. An object that could not be written may be missing. The View has
	// the objects from before the write.
	Objects []client.Object
	// Problem combines the problem of the Plan with the reasons why objects could not be written. It is nil if there are none.
	Problem *Problem
	// Waiting says which deletion must end before an object can be created: the deletion of an older object with the same name, or the
	// deletion of the namespace. It is empty if no creation waits.
	Waiting string
	// Pending are the Kinds of objects that spec.paused keeps from being written or deleted.
	Pending []string
	// TemplatePending reports that the workload lacks the desired pod template, because the write was held back or refused. The template
	// hash on the workload does not always show this: if somebody else changes the template, the hash stays the same.
	TemplatePending bool

	// Created reports that an object was created. Changed reports that one was created, changed or deleted.
	Created, Changed bool
	// Err is the error to return from the reconcile, or nil. A terminal error is not retried, because the same spec would fail again.
	Err error
	// Transient reports that the API server could not decide about some objects, or that they have changed since they were read. A
	// retry may succeed soon.
	Transient bool
	// RetryAfter is how long to wait before the next reconcile if no event comes first. With 0, only an event causes one.
	RetryAfter time.Duration
}

// HeldBack reports whether the write may have left out some of the desired objects.
func (w Written) HeldBack(v View) bool {
	return w.Problem != nil || w.Waiting != "" || v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil
}

// Over returns the children as they exist after the write: the written objects take the place of those with the same names.
func (w Written) Over(children []client.Object) []client.Object {
	children = slices.Clone(children)
	for _, object := range w.Objects {
		same := func(child client.Object) bool {
			return reflect.TypeOf(child) == reflect.TypeOf(object) && child.GetName() == object.GetName()
		}
		if i := slices.IndexFunc(children, same); i >= 0 {
			children[i] = object
		} else {
			children = append(children, object)
		}
	}
	return children
}

// Sooner returns the shorter of two waiting times, where 0 means never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
