// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the answers of agents to the operator and to kubectl memcached: docs/design/agent-interface.md.
package protocol
