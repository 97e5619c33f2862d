// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"slices"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// notice is the time from the announcement of a new number of nodes until it takes effect. The kubelet delivers a ConfigMap within
// a minute and a half.
const notice = 2 * time.Minute

// routesOf returns the routes for the proxies. If the number of slots (see slotsOf) is unknown, it returns the present routes, or nil if
// there are none. A new number of slots takes effect at once if there are no routes yet, if all pools are new, or if the present number is
// 0. Otherwise, the routes announce it. An announced number does not change before it takes effect, because some proxies may have read it.
// While no pool has nodes, the present number stays, and the proxies treat the nodes as unreachable.
func routesOf(v View) *protocol.Routes {
	live := v.liveRoutes()
	count, known := slotsOf(v)
	if !known {
		return live
	}
	patterns := memcached.Patterns(v.Pool)
	for _, mc := range v.Copies {
		patterns = append(patterns, memcached.Patterns(mc)...)
	}
	wanted := protocol.Routes{Pool: protocol.Pool{Pattern: patterns[0], Count: count}, Copies: patterns[1:]}
	if live == nil || live.Pool.At(v.Now) == 0 || !slices.ContainsFunc(wanted.Patterns(), func(pattern string) bool {
		return slices.Contains(live.Patterns(), pattern)
	}) {
		return &wanted
	}
	present := live.Pool.At(v.Now)
	if live.Pool.Wait(v.Now) > 0 || present == count || count == 0 {
		wanted.Pool.Count, wanted.Pool.Next = live.Pool.Count, live.Pool.Next
		return &wanted
	}
	from := v.Now.Add(notice).Truncate(time.Second).UTC()
	wanted.Pool.Count, wanted.Pool.Next = present, &protocol.NextCount{Count: count, From: from}
	return &wanted
}

// liveRoutes returns the routes in the ConfigMap, nil if there are none or they cannot be parsed.
func (v View) liveRoutes() *protocol.Routes {
	found := v.ConfigMap()
	if found == nil {
		return nil
	}
	routes, err := protocol.ParseRoutes(found.Data[protocol.RoutesKey])
	if err != nil {
		return nil
	}
	return &routes
}

// slotsOf returns the number of slots over which the keys are spread, and false if it is unknown. A slot consists of one node from
// each pool, all with the same number. So there are as many slots as the smallest pool has nodes. A pool without nodes does not count:
// it is as if all its nodes were unreachable.
func slotsOf(v View) (count int, known bool) {
	for _, mc := range v.Pools() {
		nodes, known := nodesOf(mc)
		if !known || v.unsupported(mc) != nil {
			return 0, false
		}
		if count == 0 || nodes > 0 && nodes < count {
			count = nodes
		}
	}
	return count, true
}

// nodesOf returns the number of servers of a Memcached, and false if it is unknown.
func nodesOf(mc *cachev1alpha1.Memcached) (count int, known bool) {
	if mc == nil || mc.Status.ObservedGeneration <= 0 {
		return 0, false
	}
	return len(mc.Status.Servers), len(mc.Status.Servers) > 0 || mc.Spec.Size == 0 && mc.Status.ObservedGeneration == mc.Generation
}
