// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcached holds what the decisions about a Memcached stand on: the names, the table of children, what was observed, and
// what is desired. Package desired decides what the objects must be, package status what the status says. They do not know each
// other: a value travels once, downwards.
//
// All three are pure. Nothing here reads or writes a cluster, a clock, the environment or a log, so everything here is tested as
// a table or as a golden file.
//
//	watch event -> observe: View -> desired.For: Plan -> write: Written -> status.For -> one status patch -> events
package memcached
