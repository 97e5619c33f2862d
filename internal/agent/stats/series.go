// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Up is 1 if the statistics could be read. Otherwise Up is 0, and the only series of this package.
var Up = gauge("up", "Could the memcached server be reached.")

var (
	version  = gauge("version", "The version of this memcached server.", "version")
	commands = counter("commands_total", "Total number of all requests broken down by command (get, set, etc.) and status.",
		"command", "status")
)

// process maps statistics about the process and its connections to series. They are in the reply to "stats".
var process = []source{
	{"uptime", counter("uptime_seconds", "Number of seconds since the server started."), nil},
	{"time", gauge("time_seconds", "current UNIX time according to the server."), nil},
	{"rusage_user", counter("process_user_cpu_seconds_total", "Accumulated user time for this process."), nil},
	{"rusage_system", counter("process_system_cpu_seconds_total", "Accumulated system time for this process."), nil},
	{"bytes_read", counter("read_bytes_total", "Total number of bytes read by this server from network."), nil},
	{"bytes_written", counter("written_bytes_total", "Total number of bytes sent by this server to network."), nil},

	{"curr_connections", gauge("current_connections", "Current number of open connections."), nil},
	{"total_connections", counter("connections_total",
		"Total number of connections opened since the server started running."), nil},
	{"rejected_connections", counter("connections_rejected_total",
		"Total number of connections rejected due to hitting the memcached's -c limit in maxconns_fast mode."), nil},
	{"conn_yields", counter("connections_yielded_total",
		"Total number of connections yielded running due to hitting the memcached's -R limit."), nil},
	{"listen_disabled_num", counter("connections_listener_disabled_total",
		"Number of times that memcached has hit its connections limit and disabled its listener."), nil},
	{"accepting_conns", gauge("accepting_connections", "The Memcached server is currently accepting new connections."), nil},
}

// storage maps statistics about items and commands to series. They are in the reply to "stats", but total_malloced is in the reply to
// "stats slabs".
var storage = []source{
	{"bytes", gauge("current_bytes", "Current number of bytes used to store items."), nil},
	{"limit_maxbytes", gauge("limit_bytes", "Number of bytes this server is allowed to use for storage."), nil},
	{"total_malloced", gauge("malloced_bytes", "Number of bytes of memory allocated to slab pages."), nil},
	{"curr_items", gauge("current_items", "Current number of items stored by this instance."), nil},
	{"total_items", counter("items_total", "Total number of items stored during the life of this instance."), nil},
	{"evictions", counter("items_evicted_total",
		"Total number of valid items removed from cache to free memory for new items."), nil},
	{"reclaimed", counter("items_reclaimed_total",
		"Total number of times an entry was stored using memory from an expired entry."), nil},
	{"store_too_large", counter("item_too_large_total",
		"The number of times an item exceeded the max-item-size when being stored."), nil},
	{"store_no_memory", counter("item_no_memory_total",
		"The number of times an item could not be stored due to no more memory."), nil},
	{"direct_reclaims", counter("direct_reclaims_total", "Times worker threads had to directly reclaim or evict items."), nil},

	{"lru_crawler_starts", counter("lru_crawler_starts_total", "Times an LRU crawler was started."), nil},
	{"crawler_reclaimed", counter("lru_crawler_reclaimed_total", "Total items freed by LRU Crawler."), nil},
	{"crawler_items_checked", counter("lru_crawler_items_checked_total", "Total items examined by LRU Crawler."), nil},
	{"moves_to_cold", counter("lru_crawler_moves_to_cold_total",
		"Total number of items moved from HOT/WARM to COLD LRU's."), nil},
	{"moves_to_warm", counter("lru_crawler_moves_to_warm_total", "Total number of items moved from COLD to WARM LRU."), nil},
	{"moves_within_lru", counter("lru_crawler_moves_within_lru_total",
		"Total number of items reshuffled within HOT or WARM LRU's."), nil},

	{"get_hits", commands, []string{"get", "hit"}},
	{"get_misses", commands, []string{"get", "miss"}},
	{"delete_hits", commands, []string{"delete", "hit"}},
	{"delete_misses", commands, []string{"delete", "miss"}},
	{"incr_hits", commands, []string{"incr", "hit"}},
	{"incr_misses", commands, []string{"incr", "miss"}},
	{"decr_hits", commands, []string{"decr", "hit"}},
	{"decr_misses", commands, []string{"decr", "miss"}},
	{"cas_hits", commands, []string{"cas", "hit"}},
	{"cas_misses", commands, []string{"cas", "miss"}},
	{"cas_badval", commands, []string{"cas", "badval"}},
	{"touch_hits", commands, []string{"touch", "hit"}},
	{"touch_misses", commands, []string{"touch", "miss"}},
	{"cmd_flush", commands, []string{"flush", "hit"}},
}

// settings maps statistics in the reply to "stats settings" to series.
var settings = []source{
	{"maxconns", gauge("max_connections", "Maximum number of clients allowed."), nil},
}

// crawlerSettings maps further statistics in the reply to "stats settings". They have series only while the LRU crawler is enabled.
var crawlerSettings = []source{
	{"lru_crawler", gauge("lru_crawler_enabled", "Whether the LRU crawler is enabled."), nil},
	{"lru_crawler_sleep", gauge("lru_crawler_sleep", "Microseconds to sleep between LRU crawls."), nil},
	{"lru_crawler_tocrawl", gauge("lru_crawler_to_crawl", "Max items to crawl per slab per run."), nil},
	{"lru_maintainer_thread", gauge("lru_crawler_maintainer_thread", "Split LRU mode and background threads."), nil},
	{"hot_lru_pct", gauge("lru_crawler_hot_percent", "Percent of slab memory reserved for HOT LRU."), nil},
	{"warm_lru_pct", gauge("lru_crawler_warm_percent", "Percent of slab memory reserved for WARM LRU."), nil},
	{"hot_max_factor", gauge("lru_crawler_hot_max_factor", "Set idle age of HOT LRU to COLD age * this"), nil},
	{"warm_max_factor", gauge("lru_crawler_warm_max_factor", "Set idle age of WARM LRU to COLD age * this"), nil},
}

// Family describes all series with the same name.
type Family struct {
	Name, Help string
	Labels     []string
	// Counter is false for a gauge.
	Counter bool

	description *prometheus.Desc
}

func newFamily(counter bool, name, help string, labels []string) *Family {
	name = "memcached_" + name
	return &Family{
		Name: name, Help: help, Labels: labels, Counter: counter,
		description: prometheus.NewDesc(name, help, labels, nil),
	}
}

func counter(name, help string, labels ...string) *Family { return newFamily(true, name, help, labels) }

func gauge(name, help string, labels ...string) *Family { return newFamily(false, name, help, labels) }

// Metric returns a series of the family. The labels are the values of Labels.
func (f *Family) Metric(value float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if f.Counter {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(f.description, kind, value, labels...)
}

// Description returns the family's descriptor, which a prometheus.Collector sends in Describe.
func (f *Family) Description() *prometheus.Desc { return f.description }

// source maps a statistic of memcached to a series of the family. labels are the values of the family's Labels, except for the slab
// class, which is an argument of collection.add.
type source struct {
	stat   string
	family *Family
	labels []string
}

// Families returns the families of a node, without duplicates.
func Families() []*Family {
	return familiesOf([]*Family{Up, version, commands, slabCommands}, process, storage, crawlerSettings, settings, items, slabs)
}

func familiesOf(families []*Family, sources ...[]source) []*Family {
	for _, from := range slices.Concat(sources...) {
		families = append(families, from.family)
	}
	slices.SortFunc(families, func(a, b *Family) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(families)
}
