// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcached decides: what the objects of a Memcached must look like, and what its status says.
//
// It is pure. Desired turns a Memcached and what was observed of it into an ordered list of objects; Status turns the
// same, and what became of writing those objects, into a status. Nothing here reads or writes a cluster, a clock, the
// environment or a log, so everything here is tested as a table or as a golden file.
//
//	watch event -> Reconcile -> observe (reads) -> Desired -> apply (writes) -> Status -> one status patch -> events
package memcached
