// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package field describes fields that need more than a merge patch. It holds only data, for internal/apply.
package field

// Rules name the fields of one Kind that need special treatment. Each field is a path of names.
type Rules struct {
	// Owned are fields to which nobody else may add. Everything below them that the desired object does not set is removed. So the
	// desired object must also set what the API server would set by default.
	Owned [][]string
	// Size is the path of the number of replicas, or empty. The number is written even if the API server refuses the other fields.
	Size []string
	// Immutable are fields that cannot change. They keep the values of the live object.
	Immutable [][]string
	// Guard marks a Kind that protects other objects, such as NetworkPolicy. Guarded marks a Kind that needs this protection: its objects
	// are created, and more than their size is written, only when all guards exist.
	Guard, Guarded bool
}
