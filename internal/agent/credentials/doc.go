// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials loads certificates, client CAs and users from Secrets into a running memcached, and proves that memcached uses
// them.
//
// Only the agent mounts the Secrets. memcached reads a copy of the last good content, so it can restart while a Secret is bad. A
// Reloader does the same work again and again:
//
//	read the Secrets -> check -> write the files, switch with one rename -> signal memcached -> prove it, by a handshake and by logins
//
// The agent may be killed at any time: the next agent finds the files, signals memcached, and proves again. It needs to remember only what
// the files do not say: which memcached has read what was removed since. Until that memcached restarts, it trusts removed CAs, keeps the
// connections of removed users, and serves the last certificate of each key algorithm.
package credentials
