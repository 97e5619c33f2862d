// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers reconciles Memcached resources. It reads and writes; internal/memcached decides what to write, and
// internal/apply how.
//
// An event enqueues a Memcached (watches.go). Reconcile reads a View of the Memcached and its children from the cache (observe.go),
// asks desired.For for a Plan, lets the Applier write the difference (write.go; errors.go classifies what was refused), and asks
// status.For for the status. It writes that if it changed, and emits the events for the transitions (status.go, events.go).
// There is no finalizer: the garbage collector deletes the children of a Memcached.
//
// Nothing is polled: what the operator waits for wakes it. It requeues for what no watch reports: a failure of the API server, an
// object of somebody else in the way, a creation that the cache has not received, a status that may wait, the end of a contest or
// of a pod's grace period (lost_pods.go).
//
// Package upgradeable reports to OLM.
package controllers
