// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an owner into their desired state, with as few requests as possible. It never changes an
// object of another owner. It knows nothing of memcached.
//
// Each write is a server-side apply with the same field owner. A POST would add a second field owner, and a field that is no longer
// desired would stay for ever. If the live object already has the desired state, nothing is sent. Fields that others add stay,
// unless they are below an owned field. An apply cannot remove those, so a strategic merge patch does.
//
// Words: a rendering is the desired object as it is sent. Drift is a difference that somebody else has made, and a correction undoes
// it. A contest is a field that somebody writes again after each correction; corrections then become rare.
//
// Server-side apply has two dangers. First, a forced apply takes over an object of another owner. So an object that seems not to
// exist is applied with the resource version "1": if the object does exist, the API server answers 409. Second, an apply recreates
// an object that was just deleted. So an object that exists is applied with its UID.
//
// The MutationCache holds each write until the informer cache has received it. So a lagging cache never causes a second write.
package apply
