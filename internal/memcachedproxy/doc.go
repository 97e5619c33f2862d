// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcachedproxy decides about MemcachedProxies as package memcached and those below it do about Memcacheds: it is pure, and a
// value travels once, downwards.
//
//	watch event -> observe: View -> For: Plan -> write: Written -> StatusFor -> one status patch -> events
//
// What both have in common is in packages memcached (problems, pods, workloads, what became of a plan) and render.
package memcachedproxy
