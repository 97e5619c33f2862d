// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// step is what is to be done about one desired object.
type step struct {
	desired client.Object
	// live is what there is, nil if there is none.
	live     client.Object
	rendered rendering
	// difference is how the live object differs from what was rendered.
	difference difference
	// drifted means that this or an earlier process applied exactly what was rendered, so somebody else has changed the object
	// since.
	drifted bool
	// inTheWay is somebody else's object of the same name, known from a refusal. It may be gone by now.
	inTheWay *ConflictError
	// immutable is an *ImmutableError if the live object has another value of an immutable field; the rendered object then carries
	// the live value.
	immutable error
	// err says why nothing can be done.
	err error
}

// pending reports whether the step is to write anything.
func (s step) pending() bool {
	return s.err == nil && (s.live == nil || !s.difference.none())
}

// outcome is what became of a step.
type outcome struct {
	// live is what is there now, nil if it does not belong to the owner.
	live client.Object
	// created and written say what was done.
	created, written bool
	// correction is what somebody else had changed, nil if nothing was undone.
	correction *Correction
	err        error
}
