// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package stats reads memcached's replies to its stats commands and turns them into the series of prometheus/memcached_exporter:
// with its names, types, labels and help, because dashboards and alerts everywhere expect them. It opens no connection, has no
// clock, and limits how much it reads.
package stats
