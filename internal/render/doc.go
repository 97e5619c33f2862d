// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render builds the parts that the Kubernetes objects of a Memcached and those of a MemcachedProxy have in common. It only
// computes, and sends no requests to the API server.
//
// The pods run memcached. If the spec needs them, they also run an agent (see package agent) and a launcher, the parent process of
// memcached.
package render
