// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol is the interface between the operator and a launcher: see ADR-0016. The operator writes memcached's arguments
// into a ConfigMap. Over HTTP, the launcher reports what it does with them. The package imports only the standard library, because
// the launcher must be small.
package protocol
