// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package parent is the parent process of memcached in its container. It starts memcached with the arguments after its own flags. When
// the pod's entry in a ConfigMap has other arguments, it restarts memcached, so the pod keeps its name, address and volumes. Over HTTP,
// the parent reports its status to the operator and answers the kubelet's probes, but accepts no commands. It does little, because its
// memory counts against the limit of memcached's container: see ADR-0016.
//
// A node is a pod with a memcached that stores items. A list is a command line of memcached (protocol.List). An entry assigns a list to the
// pod of a node (protocol.Entry). An empty node gets its items from the node with the same number in another copy of the cache. A proxy
// is a memcached that passes requests on to nodes, and its routes name those nodes (protocol.Routes).
package parent
