// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons that only a MemcachedProxy has. It has the condition types of a Memcached, except NeedsAttention, and many of the same
// reasons.
const (
	// ReasonAllProxiesReady means that every proxy is ready, up to date, and uses all nodes of the pools.
	ReasonAllProxiesReady = "AllProxiesReady"
	// ReasonProxiesReady means that at least one proxy is ready to serve.
	ReasonProxiesReady = "ProxiesReady"
	// ReasonProxiesUnavailable means that no proxy is ready. As the reason of Ready, it means that at least one proxy is missing or
	// too many exist.
	ReasonProxiesUnavailable = "ProxiesUnavailable"
	// ReasonRoutesAnnounced means that the proxies are changing to another number of nodes. The message says when, and how many
	// proxies know it.
	ReasonRoutesAnnounced = "RoutesAnnounced"
	// ReasonPoolSizesDiffer means that the Memcacheds in spec.pools have different numbers of nodes.
	ReasonPoolSizesDiffer = "PoolSizesDiffer"
	// ReasonPoolNotFound means that a Memcached in spec.pools does not exist, or has no servers yet.
	ReasonPoolNotFound = "PoolNotFound"
	// ReasonPoolUnsupported means that proxies cannot use a Memcached in spec.pools. The message names the field to change.
	ReasonPoolUnsupported = "PoolUnsupported"
)
