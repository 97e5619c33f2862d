// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package status decides what the status of a Memcached says, and what the statuses together say of the operator. It is pure, and
// knows what is desired only as a memcached.Plan: it does not know how the objects are built.
package status
