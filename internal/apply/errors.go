// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"time"
)

// ConflictError reports that another owner's object has the desired name. That object was not changed.
type ConflictError struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Controller is the kind and name of the object's controller, or empty.
	Controller string
	// RetryAfter is the time until the next check whether the object still exists. It is 0 if the check is due, or if the cache
	// holds the object.
	RetryAfter time.Duration
}

// Error implements error.
func (e *ConflictError) Error() string {
	owner := "belongs to nobody"
	if e.Controller != "" {
		owner = "belongs to " + e.Controller
	}
	return fmt.Sprintf("%s %s exists already and %s: delete or rename one of the two", e.Kind, e.Name, owner)
}

// ContestedError reports that somebody else keeps writing a field of the operator.
type ContestedError struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Field is the path of the field, such as spec.replicas.
	Field string
	// Manager is the field manager that last wrote the field, empty if unknown.
	Manager string
	// RetryAfter is the time until the next correction may be made. If there is nothing to correct, it is the time until the
	// field no longer counts as contested.
	RetryAfter time.Duration
}

// Error implements error.
func (e *ContestedError) Error() string {
	manager := e.Manager
	if manager == "" {
		manager = "somebody else"
	}
	return fmt.Sprintf("%s of %s %s is changed again and again by %s", e.Field, e.Kind, e.Name, manager)
}

// ImmutableError reports that an immutable field differs from the desired object. The other fields can still be written.
type ImmutableError struct {
	// Kind, Namespace and Name identify the object.
	Kind, Namespace, Name string
	// Field is the path of the field, such as spec.serviceName.
	Field string
}

// Error implements error.
func (e *ImmutableError) Error() string {
	return fmt.Sprintf("%s of %s %s has another value than it must have, and cannot be changed", e.Field, e.Kind, e.Name)
}

// WaitingError reports that an object must disappear before the desired one can have its name.
type WaitingError struct {
	// Kind and Name identify the object.
	Kind, Name string
}

// Error implements error.
func (e *WaitingError) Error() string {
	return fmt.Sprintf("%s %s is being deleted and must be gone first", e.Kind, e.Name)
}

// ErrRender means that a desired object cannot be encoded or compared with the live one. It is a bug of the operator.
var ErrRender = errors.New("render")
