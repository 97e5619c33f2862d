// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials loads certificates, client CAs and users from Secrets into a running memcached, and verifies that memcached
// uses them.
//
// Only the agent mounts the Secrets. The agent checks their content, because memcached does not: if a key does not match its
// certificate, memcached refuses every new connection, and it ignores a user file with a blank line. memcached reads a copy of the
// last valid content, so it can restart while a Secret is broken. The Reloader works in three steps:
//
// source: Secrets -> content, valid files that match each other
// state:  content -> a version in the store, the volume that memcached reads; a link names the current version
// loader: version -> memcached, with SIGHUP; the verifier checks the result by a handshake and by logins
//
// Until it restarts, memcached trusts a removed CA and keeps the connections of a removed user. For each key algorithm, it serves the
// last certificate that it has read. The agent reports that a restart is required.
//
// The agent may be killed at any time: each change takes effect by a single rename, and can be repeated.
package credentials
