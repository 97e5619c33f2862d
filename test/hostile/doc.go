// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostile measures what a client that means harm costs a real memcached, as the operator starts it: each command of its
// protocol in a loop, and handshakes that do not end. docs/concepts/sizing.md has the figures. make test-hostile runs it.
package hostile
