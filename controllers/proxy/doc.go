// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy reconciles MemcachedProxies as package controllers reconciles Memcacheds: it observes, decides
// (internal/memcachedproxy), writes (internal/apply) and reports. The controller starts when the cluster has the CRD of
// MemcachedProxies, which an old installation may lack.
//
// Words: a pool is a Memcached in spec.pools. Routes are the text in a ConfigMap that tells proxies the names and the number of the
// pools' nodes. Routes announce a new number two minutes before it takes effect, so that all proxies change at the same time.
package proxy
