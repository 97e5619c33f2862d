// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials loads certificates, client CAs and users from Secrets into a running memcached, and verifies that memcached
// uses them.
//
// Only the agent mounts the Secrets. It validates their content, because memcached would not: a key that does not match its
// certificate refuses every new connection, and a blank line makes it ignore a user file. So memcached can restart with the last valid
// content while a Secret is broken. The steps of the Reloader hand on values:
//
//	source: Secrets -> content, valid files that match each other
//	state:  content -> a version in the store, the volume that memcached reads; it swaps a link
//	loader: version -> memcached, with SIGHUP; the verifier checks the result by a handshake and by logins
//
// memcached trusts a removed CA, and keeps the connections of a removed user, until it restarts. The agent reports that a restart is
// required.
//
// The agent may be killed between any two steps. Each step is one rename, and can be repeated.
package credentials
