// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcached holds the values that decisions about a Memcached use: names, the table of children, the observed state, the
// plan. Package desired decides what the objects must be. Package status decides what the status must be. Neither imports the
// other.
//
// watch event -> observe: View -> desired.For: Plan -> write: Written -> status.For -> one status patch -> events
//
// All three packages are pure: they use no cluster, clock, environment or log. So tables and golden files can test them.
package memcached
