// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

// extstore are the sources in stats of a memcached that also stores items on disk.
var extstore = []source{
	{"extstore_compact_lost", counter("extstore_compact_lost_total",
		"Total number of items lost because they were locked during extstore compaction."), nil},
	{"extstore_compact_rescues", counter("extstore_compact_rescued_total",
		"Total number of items moved to a new page during extstore compaction,"), nil},
	{"extstore_compact_skipped", counter("extstore_compact_skipped_total",
		"Total number of items dropped due to inactivity during extstore compaction."), nil},
	{"extstore_page_allocs", counter("extstore_pages_allocated_total",
		"Total number of times a page was allocated in extstore."), nil},
	{"extstore_page_evictions", counter("extstore_pages_evicted_total",
		"Total number of times a page was evicted from extstore."), nil},
	{"extstore_page_reclaims", counter("extstore_pages_reclaimed_total",
		"Total number of times an empty extstore page was freed."), nil},
	{"extstore_pages_free", gauge("extstore_pages_free", "Number of extstore pages not yet containing any items."), nil},
	{"extstore_pages_used", gauge("extstore_pages_used", "Number of extstore pages containing at least one item."), nil},
	{"extstore_objects_evicted", counter("extstore_objects_evicted_total",
		"Total number of items evicted from extstore to free up space."), nil},
	{"extstore_objects_read", counter("extstore_objects_read_total", "Total number of items read from extstore."), nil},
	{"extstore_objects_written", counter("extstore_objects_written_total", "Total number of items written to extstore."), nil},
	{"extstore_objects_used", gauge("extstore_objects_used", "Number of items stored in extstore."), nil},
	{"extstore_bytes_evicted", counter("extstore_bytes_evicted_total",
		"Total number of bytes evicted from extstore to free up space."), nil},
	{"extstore_bytes_written", counter("extstore_bytes_written_total", "Total number of bytes written to extstore."), nil},
	{"extstore_bytes_read", counter("extstore_bytes_read_total", "Total number of bytes read from extstore."), nil},
	{"extstore_bytes_used", counter("extstore_bytes_used", "Current number of bytes used to store items in extstore."), nil},
	{"extstore_bytes_fragmented", gauge("extstore_bytes_fragmented",
		"Current number of bytes in extstore pages allocated but not used to store an object."), nil},
	{"extstore_limit_maxbytes", gauge("extstore_bytes_limit",
		"Number of bytes of external storage allocated for this server."), nil},
	{"extstore_io_queue", gauge("extstore_io_queue_depth", "Number of items in the I/O queue waiting to be processed."), nil},
}

// proxy are the sources in stats of a memcached that is a proxy. Others have the last two statistics as well, but the exporter
// shows them for a proxy only.
var proxy = []source{
	{"proxy_conn_requests", counter("proxy_conn_requests_total",
		"Total number of times the proxy opened a backend connection."), nil},
	{"proxy_conn_errors", counter("proxy_conn_errors_total", "Total number of backend connection errors in proxy mode."), nil},
	{"proxy_conn_oom", counter("proxy_conn_oom_total",
		"Total number of times the proxy ran out of memory allocating a connection."), nil},
	{"proxy_req_active", gauge("proxy_req_active", "Number of in-flight requests currently forwarded by the proxy."), nil},
	{"proxy_config_reloads", counter("proxy_config_reloads_total", "Total attempts to reload the proxy configuration."), nil},
	{"proxy_config_reload_fails", counter("proxy_config_reload_fails_total",
		"Total failed attempts to reload the proxy configuration."), nil},
	{"proxy_config_cron_runs", counter("proxy_config_cron_runs_total", "Total times the proxy’s Lua cron hooks have run."), nil},
	{"proxy_config_cron_fails", counter("proxy_config_cron_fails_total", "Total errors from the proxy’s Lua cron hooks."), nil},
	{"proxy_backend_total", gauge("proxy_backend_total", "Number of backend servers configured in proxy mode."), nil},
	{"proxy_backend_marked_bad", counter("proxy_backend_marked_bad_total",
		"Total times a backend was marked unhealthy by the proxy."), nil},
	{"proxy_backend_failed", gauge("proxy_backend_failed", "Number of backends currently in a failed state."), nil},
	{"proxy_request_failed_depth", counter("proxy_request_failed_depth_total",
		"Total requests dropped due to backend depth limits."), nil},
	{"round_robin_fallback", counter("round_robin_fallback_total", "Total times the proxy fell back to round-robin routing."), nil},
	{"unexpected_napi_ids", counter("unexpected_napi_ids_total",
		"Total unexpected internal event-loop IDs seen by the proxy."), nil},
}
