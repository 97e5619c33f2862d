// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"slices"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// notice is how long another number of nodes is announced before it takes effect. The kubelet brings a ConfigMap within a minute and a
// half.
const notice = 2 * time.Minute

// routesOf are the routes that the proxies must have, nil if they are not known. What is announced stays until it takes effect: some
// proxies have read it.
func routesOf(v View) *protocol.Routes {
	live := v.liveRoutes()
	count, known := slotsOf(v)
	if !known {
		return live
	}
	wanted := protocol.Routes{Pool: protocol.Pool{Pattern: patternOf(v.Pool), Count: count}}
	for _, mc := range v.Copies {
		wanted.Copies = append(wanted.Copies, patternOf(mc))
	}
	if live == nil || !slices.Equal(live.Patterns(), wanted.Patterns()) {
		return &wanted
	}
	present := live.Pool.At(v.Now)
	if live.Pool.Wait(v.Now) > 0 || present == count {
		return live
	}
	from := v.Now.Add(notice).Truncate(time.Second).UTC()
	wanted.Pool.Count, wanted.Pool.Next = present, &protocol.NextCount{Count: count, From: from}
	return &wanted
}

// liveRoutes are those of the ConfigMap, nil if it does not exist or has something else.
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

// patternOf is the name of each node of a Memcached, as in its status.servers.
func patternOf(mc *cachev1alpha1.Memcached) string { return mc.Name + "-%d." + memcached.Host(mc) }

// slotsOf is how many nodes of each pool share the keys, false if that is not known. A slot needs a node of each pool, so the smallest pool
// counts; one without any node is like a copy that is away.
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

// nodesOf is how many servers a Memcached has, false if that is not known.
func nodesOf(mc *cachev1alpha1.Memcached) (count int, known bool) {
	if mc == nil || mc.Status.ObservedGeneration <= 0 {
		return 0, false
	}
	return len(mc.Status.Servers), len(mc.Status.Servers) > 0 || mc.Spec.Size == 0 && mc.Status.ObservedGeneration == mc.Generation
}
