// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fill copies items from one memcached to another that serves at the same time: see ADR-0019. The source lists its keys
// (lru_crawler mgdump hash), a filter chooses among them, their items are read in batches (mg), and the destination adds those that it
// does not have (ms in mode E): what clients have stored there meanwhile wins. Values, flags, the remaining time and binary keys are kept.
//
// At most one batch of about 4 MiB is under way, and values are passed on without being held, whatever their size: the package lives in
// memcached's memory, and the source has clients. An item that a client deletes from both between the two requests comes back: that is a
// matter of milliseconds.
package fill
