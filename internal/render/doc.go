// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render builds what the Kubernetes objects of nodes and of proxies have in common. It only computes, and sends no requests to
// the API server.
//
// A node of a Deployment is memcached alone. Nodes of a StatefulSet and proxies also have an agent, as the parent of
// memcached and as a sidecar beside it.
package render
