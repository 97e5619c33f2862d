// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package desired computes the children that a Memcached must have. It is pure, and does not know package status.
// Package memcached explains its words.
package desired
