// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostile measures how much memory a malicious client costs a real memcached that the operator has configured, if it does not
// finish its TLS handshake. docs/operations/tls.md has the results. make test-hostile runs the package.
package hostile
