// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol is what the operator and a launcher tell each other. The operator writes arguments of memcached into a ConfigMap, and
// the launcher answers over HTTP what it does with them: see ADR-0016. The package needs the standard library only, because the
// launcher must be small.
package protocol
