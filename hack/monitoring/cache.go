// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// ofOne selects the series of the Memcached that the dashboard shows.
const ofOne = `{namespace="$namespace",memcached="$memcached"}`

// cache returns the dashboard of a single Memcached and its nodes.
func cache() dashboard {
	namespace := choice("namespace", "Namespace", `memcached_up{memcached!=""}`)
	memcached := choice("memcached", "Memcached", `memcached_up{memcached!="",namespace="$namespace"}`)
	return newDashboard(cacheUID, "Memcached / Cache", "One Memcached and its nodes.", []variable{namespace, memcached},
		slices.Concat(cacheNumbers(), servingGraphs(), memoryGraphs(), processGraphs()))
}

func cacheNumbers() []panel {
	return []panel{
		number("Nodes", "Nodes that are ready, and nodes that the spec asks for.", "none",
			"memcached:ready_nodes:max"+ofOne, "ready", "memcached:desired_nodes:max"+ofOne, "wanted"),
		number("Unavailable", "1 if fewer nodes are ready than the update strategy allows.", "none",
			orZero(`sum(memcached:condition:max{namespace="$namespace",memcached="$memcached",condition="Available",status="False"})`,
				"memcached:desired_nodes:max"+ofOne), "").red(),
		number("Degraded", "1 if something prevents the desired state: the message of the condition has the cause.", "none",
			orZero(`sum(memcached:condition:max{namespace="$namespace",memcached="$memcached",condition="Degraded",status="True"})`,
				"memcached:desired_nodes:max"+ofOne), "").red(),
		number("Hits", "Share of the gets of the last five minutes that found their key, and the average of the past day.", "percentunit",
			"memcached:hit_ratio:rate5m"+ofOne, "now", "memcached:hit_ratio:avg1d"+ofOne, "past day"),
		number("Fill level", "Share of the item memory that holds items.", "percentunit",
			"sum(memcached_current_bytes"+ofOne+") / sum(memcached_limit_bytes"+ofOne+")", "used"),
		number("Youngest node", "How long ago the youngest node started, empty.", "s", "min(memcached_uptime_seconds"+ofOne+")", ""),
	}
}

func servingGraphs() []panel {
	return []panel{
		graph("Commands", "Commands per second, by command and outcome.", "reqps",
			"sum by (command, status) (rate(memcached_commands_total"+ofOne+"[$__rate_interval]))", "{{command}} {{status}}").fromZero(),
		graph("Hit ratio", "Share of the gets that found their key. A node that was replaced starts empty.", "percentunit",
			"memcached:hit_ratio:rate5m"+ofOne, "cache", "memcached:hit_ratio:avg1d"+ofOne, "past day",
			`sum by (pod) (rate(memcached_commands_total{namespace="$namespace",memcached="$memcached",command="get",status="hit"}`+
				`[$__rate_interval])) / sum by (pod) (rate(memcached_commands_total{namespace="$namespace",memcached="$memcached",`+
				`command="get"}[$__rate_interval]))`, "{{pod}}").fromZero(1),
		graph("Connections", "Connections of each node, and how many clients each admits.", "none",
			"max by (pod) (memcached_current_connections"+ofOne+")", "{{pod}}", "memcached:max_connections:max"+ofOne, "limit").fromZero(),
		graph("New and rejected connections", "Connections per second that clients opened, and that memcached rejected because "+
			"it had too many. A high rate of new ones means that clients do not keep theirs.", "cps",
			"sum by (pod) (rate(memcached_connections_total"+ofOne+"[$__rate_interval]))", "{{pod}} new",
			"sum by (pod) (rate(memcached_connections_rejected_total"+ofOne+"[$__rate_interval]))", "{{pod}} rejected").fromZero(),
		graph("Traffic", "Bytes per second that the nodes read from clients and wrote to them.", "Bps",
			"sum(rate(memcached_read_bytes_total"+ofOne+"[$__rate_interval]))", "read",
			"sum(rate(memcached_written_bytes_total"+ofOne+"[$__rate_interval]))", "written").fromZero(),
		graph("Errors of clients", "Items per second that memcached did not store: larger than spec.config.maxItemSize, or without "+
			"memory for them.", "ops",
			"sum(rate(memcached_item_too_large_total"+ofOne+"[$__rate_interval]))", "too large",
			"sum(rate(memcached_item_no_memory_total"+ofOne+"[$__rate_interval]))", "no memory").fromZero(),
	}
}

func memoryGraphs() []panel {
	return []panel{
		graph("Item memory", "Bytes that hold items, by node, and the limit of a node. Full is normal.", "bytes",
			"max by (pod) (memcached_current_bytes"+ofOne+")", "{{pod}}", "max(memcached_limit_bytes"+ofOne+")", "limit").fromZero(),
		graph("Items", "Items by node. Nodes with far fewer were replaced, or get fewer keys from the clients.", "short",
			"max by (pod) (memcached_current_items"+ofOne+")", "{{pod}}").fromZero(),
		graph("Evictions and reclaims", "Items per second: valid ones that made room, expired ones whose memory was used again, and "+
			"evicted ones that nobody had ever read.", "ops",
			"memcached:evictions:rate15m"+ofOne, "evicted", "memcached:reclaims:rate15m"+ofOne, "reclaimed",
			"sum(rate(memcached_slab_items_evicted_unfetched_total"+ofOne+"[15m]))", "evicted unread").fromZero(),
		graph("Age of evicted items", "How long evicted items had not been used, by slab class, while it evicts. Short: the cache "+
			"is too small. Long: it evicts what nobody needs.", "s",
			"min by (slab) (memcached_slab_items_evicted_time_seconds"+ofOne+
				" and rate(memcached_slab_items_evicted_total"+ofOne+"[15m]) > 0)", "slab {{slab}}").fromZero(),
		graph("Memory by slab class", "Memory that each slab class has, for items of its size.", "bytes",
			"sum by (slab) (memcached_slab_chunk_size_bytes"+ofOne+" * memcached_slab_current_chunks"+ofOne+")",
			"slab {{slab}}").fromZero().stacked(),
		graph("Container memory", "Working set of each container of memcached, and the lowest limit.", "bytes",
			"max by (pod) ("+ofContainers("container_memory_working_set_bytes")+")", "{{pod}}",
			"min("+ofContainers("memcached:container_memory_limit_bytes:max")+")", "limit").fromZero(),
	}
}

func processGraphs() []panel {
	return []panel{
		graph("CPU", "CPUs that each memcached uses.", "none",
			"sum by (pod) (rate(memcached_process_user_cpu_seconds_total"+ofOne+"[$__rate_interval])"+
				" + rate(memcached_process_system_cpu_seconds_total"+ofOne+"[$__rate_interval]))", "{{pod}}").fromZero(),
		graph("Uptime", "How long each memcached has been running. It was empty when it started.", "s",
			"max by (pod) (memcached_uptime_seconds"+ofOne+")", "{{pod}}").fromZero(),
		graph("Versions", "Nodes by their version of memcached.", "none",
			"count by (version) (memcached_version"+ofOne+")", "{{version}}").fromZero().stacked(),
		graph("Silent nodes", "1 for a node whose memcached does not answer its agent, or whose agent does not answer Prometheus.", "none",
			"max by (pod) ((memcached_up"+ofOne+" == bool 0) > 0 or up"+ofOne+" == bool 0)", "{{pod}}").fromZero(1),
	}
}

// ofContainers returns an expression for the series of memcached's containers. These series have no label "memcached", so the
// expression takes the names of the Memcached's pods from the series "up".
func ofContainers(series string) string {
	return series + `{namespace="$namespace",container="memcached"} * on (namespace, pod) group_left () ` +
		"group by (namespace, pod) (up" + ofOne + ")"
}
