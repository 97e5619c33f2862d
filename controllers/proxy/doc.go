// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy reconciles MemcachedProxies as package controllers reconciles Memcacheds: observe, decide (internal/memcachedproxy),
// write (internal/apply), report. It begins when the API server serves their CRD, which an old installation may lack.
package proxy
