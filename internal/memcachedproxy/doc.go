// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcachedproxy decides about MemcachedProxies. It is pure, like package memcached and its subpackages for Memcacheds:
//
// watch event -> observe: View -> For: Plan -> write: Written -> StatusFor -> one status patch -> events
//
// It uses types of package memcached (Problem, Workload, Written), and package render.
package memcachedproxy
