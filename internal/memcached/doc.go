// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcached holds the values that decisions about a Memcached use: names, the table of children, the observed state, the
// plan. Package desired decides what the objects must be. Package status decides what the status must be. Neither imports the
// other.
//
// watch event -> observe: View -> desired.For: Plan -> write: Written -> status.For -> one status patch -> events
//
// Words: a node is one memcached in its pod, and a cluster node is a machine. The workload of a Memcached is its Deployment or
// StatefulSet, and a move replaces one by the other. A wave gives nodes new arguments without replacing their pods, some nodes at a
// time. Twins are Memcacheds with copies of the same items, of which one fills the other (spec.fillFrom). The record says from which
// spec and defaults the workload was last written.
//
// All three packages are pure: they use no cluster, clock, environment or log. So tables and golden files can test them.
package memcached
