// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol is the interface between the operator and the agent: see docs/design/agent-interface.md. A pod starts memcached with
// the arguments in its template. After that, the operator moves a living pod to other arguments with an entry in a ConfigMap. Over HTTP,
// the parent reports what it does with them, and the sidecar its problems. The package imports only the standard library, because the
// parent must be small.
//
// A cache may have several copies. An empty node gets its items from the node with the same number in another copy. A proxy is a
// memcached that passes requests on to nodes. A pool is a group of nodes. The routes of a proxy name its pools and the number of nodes in
// each.
package protocol
