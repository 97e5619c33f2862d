// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials loads certificates, client CAs and users from Secrets into a running memcached, and verifies that memcached
// uses them.
//
// Only the agent mounts the Secrets. It checks their content, because memcached does not. memcached reads a copy of the last valid
// content, so it can restart while a Secret is invalid. The Reloader works in three steps:
//
// source: Secrets -> content (valid files that match each other)
// state:  content -> version (a directory on the volume that memcached reads; a link names the current version)
// loader: version -> memcached, with SIGHUP; the verifier checks the result by a handshake and by logins
//
// Until memcached restarts, it trusts removed CAs and keeps the connections of removed users. For each key algorithm, it serves the last
// certificate that it has read, even after the Secret has changed to another algorithm. In each of these cases, the agent reports that a
// restart is required.
//
// The agent may be killed at any time: each change takes effect by a single rename, and can be repeated.
package credentials
