// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// A MemcachedProxy has the condition types of a Memcached. Of the reasons, it shares those about pods in general, such as
// ImagePullFailed. These are the reasons that only a MemcachedProxy has.
const (
	// ReasonAllProxiesReady says that every proxy is ready, up to date, and leads to all nodes of the pool.
	ReasonAllProxiesReady = "AllProxiesReady"
	// ReasonProxiesReady says that a proxy is ready to serve.
	ReasonProxiesReady = "ProxiesReady"
	// ReasonProxiesUnavailable says that no proxy is ready; as the reason of Ready, that at least one is missing.
	ReasonProxiesUnavailable = "ProxiesUnavailable"
	// ReasonRoutesAnnounced says that all proxies are about to lead to another number of nodes, at the time in the message.
	ReasonRoutesAnnounced = "RoutesAnnounced"
	// ReasonPoolSizesDiffer says that the Memcacheds of spec.pools have different numbers of nodes.
	ReasonPoolSizesDiffer = "PoolSizesDiffer"
	// ReasonPoolNotFound says that a Memcached of spec.pools does not exist, or has no servers yet.
	ReasonPoolNotFound = "PoolNotFound"
	// ReasonPoolUnsupported says that proxies cannot lead to a Memcached of spec.pools; the message names the field that helps.
	ReasonPoolUnsupported = "PoolUnsupported"
)
