// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// A MemcachedProxy has the condition types of a Memcached, and shares reasons about pods, such as ImagePullFailed. The reasons
// below are its own.
const (
	// ReasonAllProxiesReady means that every proxy is ready, up to date, and routes to all nodes of the pool.
	ReasonAllProxiesReady = "AllProxiesReady"
	// ReasonProxiesReady means that at least one proxy is ready to serve.
	ReasonProxiesReady = "ProxiesReady"
	// ReasonProxiesUnavailable means that no proxy is ready. As the reason of Ready, it means that at least one proxy is missing.
	ReasonProxiesUnavailable = "ProxiesUnavailable"
	// ReasonRoutesAnnounced means that all proxies will change to another number of nodes at the time in the message.
	ReasonRoutesAnnounced = "RoutesAnnounced"
	// ReasonPoolSizesDiffer means that the Memcacheds in spec.pools have different numbers of nodes.
	ReasonPoolSizesDiffer = "PoolSizesDiffer"
	// ReasonPoolNotFound means that a Memcached in spec.pools does not exist, or has no servers yet.
	ReasonPoolNotFound = "PoolNotFound"
	// ReasonPoolUnsupported means that proxies cannot use a Memcached in spec.pools. The message names the field to change.
	ReasonPoolUnsupported = "PoolUnsupported"
)
