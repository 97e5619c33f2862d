// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol is the interface between the operator and a launcher: see ADR-0016. The operator writes memcached's arguments
// into a ConfigMap. Over HTTP, the launcher reports what it does with them. The package imports only the standard library, because
// the launcher must be small.
//
// Words: a list is all arguments of one memcached, and its hash identifies it. A section of the ConfigMap belongs to the pods of one
// template. It has an entry for each node, which is the hash of the node's list, and a default for nodes that start without an entry.
// Routes are the pools of nodes that a proxy uses, with the number of nodes and an announced one.
package protocol
