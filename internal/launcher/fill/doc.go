// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fill copies items from one memcached to another that already serves: see ADR-0019. The source lists its keys (lru_crawler
// mgdump hash), and a filter selects some. The copy reads their items in batches (mg). The destination adds the items that it does
// not have (ms in mode E), so newer writes of clients win. Copies keep values, flags, the remaining time and binary keys.
//
// At most one batch of about 4 MiB is under way, and values of any size are passed on in parts. That limits the memory, which
// belongs to memcached's container, and the load on the source, which has clients. If a client deletes an item from both memcacheds
// between mg and ms, the copy brings the item back.
//
// Items that a client is to store again are left out: stale ones, and empty ones that wait for their first value. memcached gives one
// reader of a stale item the token to do so. If that is the copy, it gives the token back after the batch, unless it breaks off.
package fill
