// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

const (
	fleetUID = "memcached-fleet"
	cacheUID = "memcached-cache"

	ofCache = "{{namespace}}/{{memcached}}"
	ofProxy = "{{namespace}}/{{memcachedproxy}}"
)

// fleet returns the dashboard of all Memcacheds, of all MemcachedProxies, and of the operator. A graph of Memcacheds or MemcachedProxies
// shows at most 20 of them: those with the highest or the lowest values.
func fleet() dashboard {
	const toCache = "/d/" + cacheUID +
		"?var-datasource=${datasource}&var-namespace=${__field.labels.namespace}&var-memcached=${__field.labels.memcached}"
	namespaces := choice("namespace", "Namespace", "memcached:desired_nodes:max")
	namespaces.Multi, namespaces.IncludeAll, namespaces.AllValue = true, true, ".*"

	alerts := newPanel("table", "Firing alerts", "What needs somebody. The runbook has a section for each alert.", "none", 24, 6,
		[]string{`ALERTS{alertname=~"Memcached.*",alertstate="firing"}`, ""})
	alerts.Targets[0].Instant, alerts.Targets[0].Format = true, "table"

	panels := append(fleetNumbers(), alerts)
	for _, graph := range fleetGraphs() {
		panels = append(panels, graph.leadingTo("Show this cache", toCache))
	}
	return newDashboard(fleetUID, "Memcached / Fleet", "All Memcacheds of the operator, and the operator itself.",
		[]variable{namespaces}, slices.Concat(panels, proxyGraphs(), operatorGraphs()))
}

func fleetNumbers() []panel {
	return []panel{
		number("Caches", "Memcacheds that exist.", "none", `count(memcached:desired_nodes:max{namespace=~"$namespace"})`, "caches"),
		number("Nodes", "Nodes that are ready, and nodes that the specs ask for.", "none",
			`sum(memcached:ready_nodes:max{namespace=~"$namespace"})`, "ready",
			`sum(memcached:desired_nodes:max{namespace=~"$namespace"})`, "wanted"),
		number("Unavailable", "Caches with fewer ready nodes than their update strategy allows.", "none",
			orZero(`sum(memcached:condition:max{namespace=~"$namespace",condition="Available",status="False"})`,
				`memcached:desired_nodes:max{namespace=~"$namespace"}`), "caches").red(),
		number("Degraded", "Caches whose desired state something prevents.", "none",
			orZero(`sum(memcached:condition:max{namespace=~"$namespace",condition="Degraded",status="True"})`,
				`memcached:desired_nodes:max{namespace=~"$namespace"}`), "caches").red(),
		number("Stuck", "Caches with a change that cannot go on.", "none",
			`sum(memcached:stuck:max{namespace=~"$namespace"})`, "caches").red(),
		number("Silent nodes", "Nodes whose memcached or whose agent does not answer.", "none",
			orZero(`count(memcached_up{memcached!="",namespace=~"$namespace"} == 0 or up{memcached!="",namespace=~"$namespace"} == 0)`,
				`up{memcached!="",namespace=~"$namespace"}`), "nodes").red(),
	}
}

func fleetGraphs() []panel {
	return []panel{
		graph("Lowest hit ratios", "Share of the gets that found their key. A new or replaced node starts empty.", "percentunit",
			`bottomk(20, memcached:hit_ratio:rate5m{namespace=~"$namespace"})`, ofCache).fromZero(1),
		graph("Most commands", "Commands per second, of all kinds.", "reqps",
			`topk(20, sum by (namespace, memcached) (`+
				`rate(memcached_commands_total{memcached!="",namespace=~"$namespace"}[$__rate_interval])))`, ofCache).fromZero(),
		graph("Fullest caches", "Share of the item memory that holds items. A cache in use fills up and stays full: that alone is no "+
			"reason to act.", "percentunit",
			`topk(20, sum by (namespace, memcached) (memcached_current_bytes{memcached!="",namespace=~"$namespace"})`+
				` / sum by (namespace, memcached) (memcached_limit_bytes{memcached!="",namespace=~"$namespace"}))`, ofCache).fromZero(1),
		graph("Most evictions", "Valid items per second that made room for others.", "ops",
			`topk(20, memcached:evictions:rate15m{namespace=~"$namespace"})`, ofCache).fromZero(),
		graph("Busiest nodes by connections", "Connections of the busiest node of each cache, of spec.config.maxConnections.", "percentunit",
			`topk(20, max by (namespace, memcached) (memcached:connections_used:ratio{namespace=~"$namespace"}))`, ofCache).fromZero(1),
		graph("Most traffic", "Bytes per second that the nodes read and wrote.", "Bps",
			`topk(20, sum by (namespace, memcached) (`+
				`rate(memcached_read_bytes_total{memcached!="",namespace=~"$namespace"}[$__rate_interval])`+
				` + rate(memcached_written_bytes_total{memcached!="",namespace=~"$namespace"}[$__rate_interval])))`, ofCache).fromZero(),
	}
}

func proxyGraphs() []panel {
	return []panel{
		graph("Requests through proxies", "Requests per second, of all kinds, by MemcachedProxy.", "reqps",
			`topk(20, sum by (namespace, memcachedproxy) (`+
				`rate(memcached_proxy_requests_total{memcachedproxy!="",namespace=~"$namespace"}[$__rate_interval])))`, ofProxy).fromZero(),
		graph("Nodes that proxies cannot reach", "Nodes that are away for at least one of the proxies: their keys miss, and what writes "+
			"them fails.", "none",
			`topk(20, count by (namespace, memcachedproxy) (`+
				`group by (namespace, memcachedproxy, backend) (memcached_proxy_backend_away{memcachedproxy!="",namespace=~"$namespace"} > 0)))`,
			ofProxy).fromZero(),
	}
}

func operatorGraphs() []panel {
	return []panel{
		graph("Reconciles", "Reconciles per second by outcome. Retried: the API server made no decision. Other reasons than Applied and "+
			"Unchanged are rejections.", "ops",
			`sum by (reason) (rate(memcached_operator_reconciles_total[$__rate_interval]))`, "{{reason}}").fromZero(),
		graph("Corrections", "Changes by others within the last half hour that the operator corrected. Many of one kind: someone "+
			"else keeps writing the same fields.", "none",
			`sum by (kind) (increase(memcached_operator_corrections_total[30m]))`, "{{kind}}").fromZero(),
	}
}
