// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package traffic has memcached clients for tests, the benchmark and the demo. A Client spreads keys over the nodes with a Ring, as
// applications do. A Conn queries one node. A Filler gives one node the maximum load. A Load measures how fast a server replies.
package traffic
