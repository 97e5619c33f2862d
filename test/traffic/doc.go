// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package traffic is what an application does with memcached, for the end-to-end tests and the demo: a Client that spreads
// keys over the nodes with a Ring, a Conn to ask one node, and a Filler that gives one node all the work it is sized for.
// Everything ends with its context, and nothing sleeps.
package traffic
