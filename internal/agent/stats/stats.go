// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package stats turns memcached's statistics into Prometheus series. The memcached is a node, which stores items, or a proxy, which
// forwards requests to nodes.
//
// The series of a node have the names, types, labels and help of prometheus/memcached_exporter, because existing dashboards and alerts
// expect them. A proxy has some of these series. The names of its additional series begin with memcached_proxy_.
package stats

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/internal/memcache"
)

// Stats are the statistics of a node, under memcached's names.
type Stats struct {
	// General is the reply to "stats", and the part of the reply to "stats slabs" that is not about a single slab class.
	General map[string]string
	// Settings is the reply to "stats settings".
	Settings map[string]string
	// Items and Slabs are the replies to "stats items" and "stats slabs", by slab class.
	Items, Slabs map[int]map[string]string
}

// Read reads the statistics of a node. It does not send "stats conns", because the reply contains the addresses of clients, and grows
// with their number.
func Read(ctx context.Context, conn *memcache.Conn) (*Stats, error) {
	var replies [4]map[string]string
	for i, topic := range [len(replies)][]string{{}, {"settings"}, {"items"}, {"slabs"}} {
		var err error
		if replies[i], err = conn.Stats(ctx, topic...); err != nil {
			return nil, err
		}
	}
	s := &Stats{General: replies[0], Settings: replies[1], Items: map[int]map[string]string{}, Slabs: map[int]map[string]string{}}
	for name, value := range replies[2] { // such as items:3:number
		if err := storeByClass(s.Items, strings.TrimPrefix(name, "items:"), value); err != nil {
			return nil, err
		}
	}
	for name, value := range replies[3] { // such as 3:chunk_size, or active_slabs
		if !strings.Contains(name, ":") {
			s.General[name] = value
		} else if err := storeByClass(s.Slabs, name, value); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func storeByClass(classes map[int]map[string]string, name, value string) error {
	number, stat, _ := strings.Cut(name, ":")
	class, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return fmt.Errorf("%w: slab class %s", memcache.ErrMalformed, quoted(number))
	}
	if classes[int(class)] == nil {
		classes[int(class)] = map[string]string{}
	}
	classes[int(class)][stat] = value
	return nil
}

// quoted quotes at most 40 bytes of a text from memcached.
func quoted(text string) string {
	const most = 40
	return strconv.QuoteToASCII(text[:min(len(text), most)])
}

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
