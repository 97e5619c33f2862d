// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// step is what has to be done about one desired object.
type step struct {
	desired client.Object
	// live is the existing object, or nil.
	live     client.Object
	rendered rendering
	// difference is how the live object differs from the rendering.
	difference difference
	// drifted reports that this process or an earlier one has applied the same rendering, so that any difference is somebody else's change.
	drifted bool
	// inTheWay is an object of another owner with the same name, known from an earlier refusal. It may be gone.
	inTheWay *ConflictError
	// immutable is an *ImmutableError if an immutable field differs. The rendering then contains the live value.
	immutable error
	// err is why nothing can be done.
	err error
}

// pending reports whether the step writes anything.
func (s step) pending() bool {
	return s.err == nil && (s.live == nil || !s.difference.none())
}

// outcome is the result of a step.
type outcome struct {
	// live is the object after the step, or nil if it does not belong to the owner.
	live client.Object
	// created and written report what was done.
	created, written bool
	// correction is the change by somebody else that was undone, or nil.
	correction *Correction
	err        error
}
