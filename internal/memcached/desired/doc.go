// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package desired decides what the objects of a Memcached must be. It is pure, and knows nothing of the status.
package desired
