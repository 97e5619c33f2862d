// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package launcher is the parent of memcached in its container. It reads memcached's arguments from a ConfigMap and restarts memcached
// when they change, so that the pod keeps its name, address and memory volume. It answers the operator and the kubelet over HTTP, and
// takes no orders over it. It lives within memcached's memory limit, so it does little: see ADR-0016.
package launcher
