// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllers reconciles Memcached resources. It does the reading and the writing; what to write is decided by
// internal/memcached, and how it is written by internal/apply.
//
// An event enqueues a Memcached (watches.go). Reconcile observes it and its objects from the cache (observe.go), asks
// memcached.Desired what they should be, lets the Applier write the difference (outcome.go turns what was refused into
// words), asks memcached.Status what to tell, writes that if it changed, and sends the events for the transitions
// (status.go, events.go). There is no finalizer: the garbage collector deletes what a Memcached owned. Nothing is polled:
// what the operator waits for wakes it. A timer wakes it for what no watch tells of: a failure of the API server, an object of
// somebody else in the way, a creation that the cache has not confirmed, a status that may wait, the end of a contest.
//
// The queue (workers.go) hands out no more than the workers can do, and does not count those that wait for a webhook.
//
// Apart from that, a controller of its own watches the statuses and tells OLM whether the operator may be upgraded
// (upgrade_setup.go, upgrade_reporter.go).
package controllers
