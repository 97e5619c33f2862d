// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package stats turns memcached's statistics into series. Their names, types, labels and help are those of
// prometheus/memcached_exporter, because existing dashboards and alerts expect them.
package stats
