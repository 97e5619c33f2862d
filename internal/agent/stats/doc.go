// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package stats turns memcached's statistics into the series of prometheus/memcached_exporter: with its names, types, labels and help,
// because dashboards and alerts everywhere expect them.
package stats
