// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package stats turns memcached's statistics into Prometheus series. The memcached is a node, which stores items, or a proxy, which
// forwards requests to nodes.
//
// The series of a node have the names, types, labels and help of prometheus/memcached_exporter, because existing dashboards and alerts
// expect them. A proxy has some of these series. The names of its additional series begin with memcached_proxy_.
package stats
