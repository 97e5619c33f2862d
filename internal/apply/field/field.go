// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package field describes the fields of an object for which the applier needs more than server-side apply. It holds only data,
// which internal/apply uses.
package field

// Rules are the rules for the fields of one Kind. Each field is a path of names.
type Rules struct {
	// Owned are fields to which nobody else may add. Everything below them that the desired object does not set is removed. So the
	// desired object must also set what the API server would set by default.
	Owned [][]string
	// Size is the path of the replicas, or empty. The size is written even if the API server refuses the rest.
	Size []string
	// Immutable are fields that cannot change. A live object keeps its values.
	Immutable [][]string
	// Gated are fields that the API server drops while a feature gate is off. A missing gated field is no difference.
	Gated [][]string
	// Guard marks Kinds that protect other objects. Objects of Guarded Kinds are created only after all guards.
	Guard, Guarded bool
}
