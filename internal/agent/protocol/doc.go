// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol defines an agent's answer to GET /status, which the operator and kubectl memcached read: see
// docs/design/agent-interface.md.
package protocol
