// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers reconciles Memcached resources. It reads and writes objects; internal/memcached decides what to write,
// and internal/apply how.
//
// An event enqueues a Memcached (watches.go). Reconcile reads a View of the Memcached and its children from the cache
// (observe.go) and gets a Plan from desired.For, for which it may have to ask the parents of nodes (ask.go). It writes what
// differs (write.go; errors.go classifies refusals), and takes the steps of pods (steps.go), which are decided from what is read past
// the cache (verify.go).
// If status.For returns a status that differs from the last one, Reconcile writes it (status.go) and emits events (events.go).
// There is no finalizer: the garbage collector deletes the children.
//
// Words: a node is one memcached in its pod, and a cluster node is a machine. A child is an object that the operator keeps for a
// Memcached. The parent is the process that starts memcached in a pod of a StatefulSet. The sidecar serves metrics, loads Secrets into
// memcached and reports problems. A step changes, replaces or deletes a pod of a StatefulSet, or assigns other arguments to its parent
// (package rollout). Proxies (spec.proxy) are memcacheds that pass requests on to nodes: their routes say to which, and all proxies
// change to another number of nodes at the same time. A change in place gives a running pod another image or other resources.
package controllers
