// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package render builds the parts of objects that all Kinds of this API share. It is pure.
package render
