// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy reconciles MemcachedProxies as package controllers reconciles Memcacheds: it observes, decides
// (internal/memcachedproxy), writes (internal/apply) and reports. The controller starts when the cluster has the CRD of
// MemcachedProxies, which an old installation may lack.
package proxy
