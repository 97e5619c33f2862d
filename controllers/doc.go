// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers reconciles Memcached resources. This package reads and writes objects: internal/memcached decides what to
// write, and internal/apply decides how.
//
// An event enqueues a Memcached (watches.go). Reconcile then takes five steps. It reads a View of the Memcached and its children
// from the cache (observe.go). It gets a Plan from desired.For. The Applier writes what differs (write.go; errors.go classifies
// refusals). status.For computes the status. If that has changed, it is written, and events report the transitions (status.go,
// events.go). There is no finalizer: the garbage collector deletes the children of a Memcached.
//
// Watches wake the operator. It requeues only for what no watch reports: a failure of the API server, an object of another owner
// with the same name, a created object that the cache does not hold yet, a deferred status write, the next step of a change of
// pods, the end of a contest over fields or of a pod's grace period (lost_pods.go).
//
// Package upgradeable reports to OLM.
package controllers
