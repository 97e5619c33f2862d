// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package traffic contains memcached clients for the end-to-end tests and the demo: a Client that spreads keys over the nodes
// with a Ring as applications do, a Conn to query one node, a Filler that gives one node all the load that it is sized for, and
// a Load that measures how fast one node serves. Everything ends with its context, and nothing sleeps.
package traffic
