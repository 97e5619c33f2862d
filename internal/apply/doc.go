// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an owner into their desired state with as few requests as possible. It never changes an
// object of another owner.
//
// It writes by server-side apply, always as the same field manager (see ADR-0001). Fields that others add stay, except below
// owned fields (field.Rules): a strategic merge patch removes those.
//
// Words: a rendering is the desired object as it is sent. Drift is a difference that somebody else has made, and a correction
// undoes it. A field is contested while somebody keeps undoing its corrections.
//
// Server-side apply takes over objects of other owners. So an object that seems not to exist is applied with the resource
// version "1": if it exists, the API server answers 409. Server-side apply also recreates deleted objects. So an existing
// object is applied with its UID: if no object with this UID exists any more, the API server refuses the write.
//
// The MutationCache holds each write until the informer cache has received it. So a lagging cache causes no second write.
package apply
