// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package field describes which fields of an object belong to its applier beyond what server-side apply enforces. It is data:
// internal/apply acts on it.
package field

// Rules are the rules for the fields of one Kind. Each field is a path of names.
type Rules struct {
	// Owned are fields to which nobody else may add: anything below them that the desired object does not set is removed. The
	// desired object sets everything below them that the API server would default.
	Owned [][]string
	// Size is the path of the replicas, empty if the Kind has none. It is written even if the API server refuses the rest.
	Size []string
	// Immutable are the fields that nobody can change. A live object keeps its values.
	Immutable [][]string
	// Gated are fields that an API server drops while a feature gate is off. Their absence is no difference.
	Gated [][]string
	// Guard marks Kinds that protect the guarded Kinds: guarded objects are not created before them.
	Guard, Guarded bool
}
