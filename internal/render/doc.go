// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render builds what the Kubernetes objects of Memcacheds and of MemcachedProxies have in common. It only computes, and sends
// no requests to the API server.
//
// The pods run memcached. Some specs need an agent in the pod, too (see package agent). The pods of a proxy, and of some Memcacheds, also
// run a launcher, the parent process of memcached.
package render
