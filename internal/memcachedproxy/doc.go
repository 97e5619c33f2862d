// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcachedproxy decides what the objects and the status of a MemcachedProxy must be. It is pure, like package memcached,
// from which it takes Problem, Workload and Written. These are the steps of a reconcile:
//
// watch event -> observe: View -> For: Plan -> write: Written -> StatusFor -> one status patch -> events
//
// Words: a proxy is a memcached that passes requests on to nodes. Its parent process gives it the routes. A pool is
// the nodes of one Memcached in spec.pools. With several pools, each holds the same items, and the pools after the first are
// called copies. Routes tell proxies the names and the number of the nodes. A change of this number is announced two minutes before it
// takes effect, so that all proxies change at the same time. The uptake says how many proxies have read the routes.
package memcachedproxy
