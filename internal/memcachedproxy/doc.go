// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcachedproxy decides about MemcachedProxies. It is pure, like package memcached and its subpackages for Memcacheds:
//
// watch event -> observe: View -> For: Plan -> write: Written -> StatusFor -> one status patch -> events
//
// Words: routes tell proxies the names and the number of the nodes. Another number is announced two minutes before it holds, so that
// all proxies change at the same time. The uptake is which proxies have read the routes.
//
// It uses types of package memcached (Problem, Workload, Written), and package render.
package memcachedproxy
