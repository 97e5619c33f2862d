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
	// drifted reports that the operator's last write was this rendering. Every difference is then somebody else's change.
	drifted bool
	// inTheWay is the conflict that an earlier attempt to create the object met, or nil. The other owner's object may be gone now.
	inTheWay *ConflictError
	// immutable is an *ImmutableError if an immutable field differs. In that case, the rendering contains the live value. Otherwise,
	// immutable is nil.
	immutable error
	// err is why the object cannot be written, or nil.
	err error
}

// pending reports whether the step writes anything.
func (s step) pending() bool {
	return s.err == nil && (s.live == nil || !s.difference.none())
}

// outcome is the result of a step.
type outcome struct {
	// live is the object after the step. It is nil if the step could not begin, or if a creation failed.
	live client.Object
	// created reports that the step created the object. written reports that the step created or changed it.
	created, written bool
	// correction describes the changes by others that the step undid. It is nil if there were none.
	correction *Correction
	// asDesired reports that the object is as desired. An error then only says that somebody else keeps changing it.
	asDesired bool
	err       error
}
