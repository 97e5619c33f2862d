// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package launcher is the parent process of memcached in its container. It reads memcached's arguments from a ConfigMap, and
// restarts memcached when they change. So the pod keeps its name, address and memory volume. The launcher answers the operator and
// the kubelet over HTTP, but accepts no commands there. It uses memory of memcached's container, so it does little: see ADR-0016.
// Package protocol explains lists, sections and entries.
package launcher
