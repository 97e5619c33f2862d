// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons that only a MemcachedProxy has. It has the condition types of a Memcached, except NeedsAttention, and many of the same
// reasons.
const (
	// ReasonAllProxiesReady means that every proxy is ready, up to date, and uses all nodes of the pools.
	ReasonAllProxiesReady = "AllProxiesReady"
	// ReasonProxiesReady means that at least one proxy is ready to serve, or that the size is 0.
	ReasonProxiesReady = "ProxiesReady"
	// ReasonProxiesUnavailable means that no proxy is ready. As the reason of Ready, it means that a proxy is missing or not
	// ready, or that too many exist.
	ReasonProxiesUnavailable = "ProxiesUnavailable"
	// ReasonRoutesAnnounced means that the routes are changing, to another number of nodes or to other pools. The message says how
	// many proxies have the new routes, and when an announced number takes effect.
	ReasonRoutesAnnounced = "RoutesAnnounced"
	// ReasonPoolSizesDiffer means that the Memcacheds in spec.pools have different numbers of nodes.
	ReasonPoolSizesDiffer = "PoolSizesDiffer"
	// ReasonPoolNotFound means that a Memcached in spec.pools does not exist, or has no servers yet.
	ReasonPoolNotFound = "PoolNotFound"
	// ReasonPoolUnsupported means that proxies cannot use a Memcached in spec.pools. The message names the field to change.
	ReasonPoolUnsupported = "PoolUnsupported"
)
