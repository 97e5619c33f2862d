// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an owner into their desired state, with as few requests as possible and without ever touching what
// belongs to somebody else. It knows nothing of memcached.
//
// Writes are server-side applies with one constant field owner. An object that was once created with POST would have two owners of its
// fields, and a field that is no longer desired would stay for ever. Objects are compared first: nothing is sent if the live object already
// holds the desired state. Fields that others add stay, unless they are below an owned field. An apply cannot remove these, so a strategic
// merge patch does.
//
// Server-side apply has two traps. A forced apply silently takes over an object that belongs to somebody else: objects
// that do not seem to exist are therefore applied with the resource version "1", which the API server refuses with 409 if
// they do. And an apply silently recreates an object that was deleted in between: objects that exist are therefore
// applied with their UID.
//
// The MutationCache holds each write until the cache has received it, so that a cache that lags never causes a second write.
package apply
