// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package field describes which fields of an object belong to its applier beyond what server-side apply enforces. It is data:
// internal/apply acts on it.
package field

// Rules are the rules for the fields of one Kind.
type Rules struct {
	// Zeros are the fields whose zero values are enforced.
	Zeros []Zero
	// Exclusives are the fields to which nobody else may add.
	Exclusives []Exclusive
	// NamedLists are the lists whose items may not have the same name.
	NamedLists []NamedList
	// Separable are the paths of the fields that the API server may refuse, and without which the rest of the object is written
	// nevertheless.
	Separable [][]string
	// Size is the path of the field that says how many there are to be of something, of a Kind with separable fields.
	Size []string
	// Immutable are the paths of the fields that nobody can change. A live object keeps its values.
	Immutable [][]string
	// Gated are the paths of the fields that an API server drops while a feature of the cluster is off, and fills while it is on.
	// So one that is missing is no difference: to write it again would not help.
	Gated [][]string
	// Guard says that objects of this Kind protect those of the guarded Kinds, which are not created before them.
	Guard, Guarded bool
}

// Zero is a field whose zero value matters. Go types omit zero values, so an apply would not notice that someone else has set
// the field.
type Zero struct {
	// Path of the field.
	Path []string
	// Value of the field if nobody has set it: false, or int64(0).
	Value any
}

// Exclusive are fields that only make sense as a whole, so that nobody else may add to them: resources, security contexts,
// hooks, probes. An apply removes nothing that someone else has added, and the API server may refuse the mixture. The desired
// object sets everything in them that the API server would default.
type Exclusive struct {
	// Path of the object that holds the fields. Lists on the way are matched by the names of their items.
	Path []string
	// Fields are the names of the fields. A field that is not desired must not exist.
	Fields []string
}

// NamedList is a list whose items have unique names and are merged by another key. If someone has changed that key in our item,
// an apply would be refused: it would add our item beside theirs, which has the same name.
type NamedList struct {
	// Path of the object that holds the list. Lists on the way are matched by the names of their items.
	Path []string
	// Field is the list. Key is the field by which a strategic merge patch finds its items.
	Field, Key string
	// Others are the further fields by which an apply finds an item.
	Others []string
	// Unset are the fields that our items must not have.
	Unset []string
}
