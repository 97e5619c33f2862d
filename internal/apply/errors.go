// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// ObstacleError says why an object is not as desired, or does not stay so. A retry alone does not help.
type ObstacleError struct {
	Why Why
	// Kind, Namespace and Name identify the object.
	Kind, Namespace, Name string
	// Field is the path of a field that was corrected last, or cannot be changed, such as spec.replicas.
	Field string
	// By is the kind and name of the controller of a Conflict, or the field manager that makes an object Contested. It is empty if there is
	// none, or if it is unknown.
	By string
	// RetryAfter is the time until the next correction of a Contested object may be made. If there is nothing to correct, it is the time
	// until the object no longer counts as contested.
	RetryAfter time.Duration
}

// Why is the kind of an ObstacleError.
type Why int

const (
	// Conflict means that another owner's object has the desired name. That object was not changed.
	Conflict Why = iota
	// Contested means that somebody else keeps writing an object of the operator.
	Contested
	// Immutable means that an immutable field differs from the desired object. The other fields can still be written.
	Immutable
	// Waiting means that an object must disappear before the desired one can have its name.
	Waiting
)

// Error implements error.
func (o *ObstacleError) Error() string {
	object := o.Kind + " " + o.Name
	switch o.Why {
	case Conflict:
		return fmt.Sprintf("%s exists already and belongs to %s: delete or rename one of the two", object, cmp.Or(o.By, "nobody"))
	case Contested:
		return fmt.Sprintf("%s of %s is changed again and again by %s", o.Field, object, cmp.Or(o.By, "somebody else"))
	case Immutable:
		return fmt.Sprintf("%s of %s has another value than it must have, and cannot be changed", o.Field, object)
	default:
		return object + " is being deleted and must be gone first"
	}
}

// ErrChanged means that an object is not what was compared, so that nothing was written. A new comparison helps.
var ErrChanged = errors.New("the object has changed since it was read")

// ErrRender means that a desired object cannot be encoded or compared with the live one. It is a bug of the operator.
var ErrRender = errors.New("render")
