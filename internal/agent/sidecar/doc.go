// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package sidecar runs beside memcached in the pods of a StatefulSet and of proxies. It serves memcached's statistics as
// Prometheus series, reports whether memcached answers, and loads certificates and users from Secrets into memcached (see package
// credentials). It does not use the API server.
//
// The memcached is a node, which stores items, or a proxy, which forwards requests to nodes. A node's
// parent can fill the node with the items of another copy of the cache. A proxy's parent gives the proxy its routes, which name the nodes
// that share the keys. Some series come from the parent's status.
//
// After an upgrade of the operator, older agents keep running: see docs/design/agent-interface.md.
package sidecar
