// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package field describes which fields of an object belong to its applier beyond what server-side apply enforces. It is data:
// internal/apply acts on it.
package field

// Rules are the rules for the fields of one Kind. Each field is a path of names.
type Rules struct {
	// Owned are the fields to which nobody else may add: what the desired object does not set below them is removed. The desired
	// object sets everything below them that the API server would default.
	Owned [][]string
	// Size is the field with the number of replicas, empty if the Kind has none. It is written even if the API server refuses the
	// rest of the object.
	Size []string
	// Immutable are the fields that nobody can change. A live object keeps its values.
	Immutable [][]string
	// Gated are the fields that an API server drops while a feature of the cluster is off. A missing one is no difference.
	Gated [][]string
	// Guard says that objects of this Kind protect those of the guarded Kinds, which are not created before them.
	Guard, Guarded bool
}
