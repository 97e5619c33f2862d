// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an owner into their desired state with as few requests as possible. It never changes an
// object of another owner.
//
// The package writes by server-side apply, always as the same field manager (see ADR-0001). Fields that others add stay, unless they
// are below owned fields (see field.Rules). A strategic merge patch removes additions below owned fields.
//
// Words: a rendering is the desired object as it is sent. Drift is a difference that somebody else has made, and a correction
// undoes it. A field is contested while somebody keeps undoing its corrections.
//
// A server-side apply changes an existing object even if it belongs to another owner. So an object that seems not to exist is applied
// with the resource version "1": if it exists, the API server answers 409. A server-side apply also recreates a deleted object. So an
// existing object is applied with its UID: if no object with this UID exists any more, the API server refuses the write.
//
// The MutationCache holds each write until the informer cache has received it. So a lagging cache causes no second write.
package apply
