// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package fill copies items from one memcached, the source, to another that already serves, the destination: see ADR-0019. The source
// lists its keys ("lru_crawler mgdump hash"). The copy requests their items in batches ("mg") and sends them to the destination ("ms"
// in mode E), which adds the items that it does not have. So the copy does not replace what clients have stored there.
//
// One batch is in progress at a time. Its intended size is at most 4 MiB, and values are passed on in parts. This limits the memory of
// the copy and the load on the source. After each batch, the copy asks the source again for the CAS value, size, flags and lifetime of
// the items. If an item has changed, the copy deletes it from the destination: a client's command that needs the item, such as "cas",
// had no effect in the destination while the item was not there yet.
//
// The copy leaves out items that a client must store again: stale items, and empty items that wait for their first value. memcached
// gives a token to one reader of a stale item, and that reader must store the item again. A copy that gets the token gives it back
// after the batch, unless the copy fails before.
package fill
