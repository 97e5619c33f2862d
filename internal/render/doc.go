// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render makes those parts of objects that all Kinds of this API have in common: it is pure, and knows no Kind.
package render
