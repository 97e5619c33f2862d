// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render builds what the Kubernetes objects of Memcacheds and of MemcachedProxies have in common. It only computes, and sends
// no requests to the API server.
//
// A pod of a Deployment of a Memcached is memcached alone. Pods of a StatefulSet or a proxy also have an agent, as the parent of
// memcached and as a sidecar beside it.
package render
