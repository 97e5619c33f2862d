// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

var (
	slabCommands = counter("slab_commands_total",
		"Total number of all requests broken down by command (get, set, etc.) and status per slab.", "slab", "command", "status")
	slabHits = counter("slab_lru_hits_total", "Number of get_hits to the LRU.", "slab", "lru")
)

// items maps statistics in the reply to "stats items" to series. Some types and help texts look wrong, because they equal those of
// memcached_exporter.
var items = []source{
	{"number", slabGauge("current_items", "Number of items currently stored in this slab class."), nil},
	{"number_hot", slabGauge("hot_items", "Number of items presently stored in the HOT LRU."), nil},
	{"number_warm", slabGauge("warm_items", "Number of items presently stored in the WARM LRU."), nil},
	{"number_cold", slabGauge("cold_items", "Number of items presently stored in the COLD LRU."), nil},
	{"age", slabGauge("items_age_seconds", "Number of seconds the oldest item has been in the slab class."), nil},
	{"age_hot", slabGauge("hot_age_seconds", "Age of the oldest item in HOT LRU."), nil},
	{"age_warm", slabGauge("warm_age_seconds", "Age of the oldest item in HOT LRU."), nil},
	{"mem_requested", slabCounter("mem_requested_bytes", "Number of bytes of memory actual items take up within a slab."), nil},
	{"evicted", slabCounter("items_evicted_total",
		"Total number of times an item had to be evicted from the LRU before it expired."), nil},
	{"evicted_nonzero", slabCounter("items_evicted_nonzero_total",
		"Total number of times an item which had an explicit expire time set had to be evicted from the LRU before it expired."), nil},
	{"evicted_time", slabCounter("items_evicted_time_seconds",
		"Seconds since the last access for the most recent item evicted from this class."), nil},
	{"evicted_unfetched", slabCounter("items_evicted_unfetched_total", "Total nmber of items evicted and never fetched."), nil},
	{"expired_unfetched", slabCounter("items_expired_unfetched_total",
		"Total number of valid items evicted from the LRU which were never touched after being set."), nil},
	{"outofmemory", slabCounter("items_outofmemory_total",
		"Total number of items for this slab class that have triggered an out of memory error."), nil},
	{"reclaimed", slabCounter("items_reclaimed_total", "Total number of items reclaimed."), nil},
	{"crawler_reclaimed", slabCounter("items_crawler_reclaimed_total", "Number of items freed by the LRU Crawler."), nil},
	{"tailrepairs", slabCounter("items_tailrepairs_total",
		"Total number of times the entries for a particular ID need repairing."), nil},
	{"moves_to_cold", slabCounter("items_moves_to_cold", "Number of items moved from HOT or WARM into COLD."), nil},
	{"moves_to_warm", slabCounter("items_moves_to_warm", "Number of items moves from COLD into WARM."), nil},
	{"moves_within_lru", slabCounter("items_moves_within_lru",
		"Number of times active items were bumped within HOT or WARM."), nil},
	{"hits_to_hot", slabHits, []string{"hot"}},
	{"hits_to_warm", slabHits, []string{"warm"}},
	{"hits_to_cold", slabHits, []string{"cold"}},
	{"hits_to_temp", slabHits, []string{"temporary"}},
}

// slabs maps the statistics of a slab class in the reply to "stats slabs" to series.
var slabs = []source{
	{"chunk_size", slabGauge("chunk_size_bytes", "Number of bytes allocated to each chunk within this slab class."), nil},
	{"chunks_per_page", slabGauge("chunks_per_page", "Number of chunks within a single page for this slab class."), nil},
	{"total_pages", slabGauge("current_pages", "Number of pages allocated to this slab class."), nil},
	{"total_chunks", slabGauge("current_chunks", "Number of chunks allocated to this slab class."), nil},
	{"used_chunks", slabGauge("chunks_used", "Number of chunks allocated to an item."), nil},
	{"free_chunks", slabGauge("chunks_free", "Number of chunks not yet allocated items."), nil},
	{"free_chunks_end", slabGauge("chunks_free_end", "Number of free chunks at the end of the last allocated page."), nil},
	{"get_hits", slabCommands, []string{"get", "hit"}},
	{"delete_hits", slabCommands, []string{"delete", "hit"}},
	{"incr_hits", slabCommands, []string{"incr", "hit"}},
	{"decr_hits", slabCommands, []string{"decr", "hit"}},
	{"cas_hits", slabCommands, []string{"cas", "hit"}},
	{"cas_badval", slabCommands, []string{"cas", "badval"}},
	{"touch_hits", slabCommands, []string{"touch", "hit"}},
}

func slabGauge(name, help string) *Family { return gauge("slab_"+name, help, "slab") }

func slabCounter(name, help string) *Family { return counter("slab_"+name, help, "slab") }
