// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// notice is the time from the announcement of a new number of nodes until it takes effect. The kubelet delivers a ConfigMap within
// a minute and a half.
const notice = 2 * time.Minute

// routesOf returns the routes for the proxies. If the number of nodes is unknown, it returns the present routes, or nil if there are none.
// A new number takes effect at once if there are no routes yet, or if the present number is 0. Otherwise, the routes announce it. An
// announced number does not change before it takes effect, because some proxies may have read it. So nodes that start together are
// announced together. While there are no nodes, the present number stays, and the proxies treat the nodes as unreachable.
func routesOf(v memcached.View) *protocol.Routes {
	live := v.Routes()
	count, known := v.NodesOfRoutes()
	if !known {
		return live
	}
	patterns := memcached.Patterns(v.Memcached)
	wanted := protocol.Routes{Pool: protocol.Pool{Pattern: patterns[0], Count: count}, Copies: patterns[1:]}
	if live == nil || live.Pool.At(v.Now) == 0 || !slices.Equal(live.Patterns(), patterns) {
		return &wanted
	}
	present := live.Pool.At(v.Now)
	starting := v.Workload != nil && count < int(v.Workload.Replicas)
	if live.Pool.Wait(v.Now) > 0 || present == count || count == 0 || present < count && starting {
		wanted.Pool.Count, wanted.Pool.Next = live.Pool.Count, live.Pool.Next
		return &wanted
	}
	from := v.Now.Add(notice).Truncate(time.Second).UTC()
	wanted.Pool.Count, wanted.Pool.Next = present, &protocol.NextCount{Count: count, From: from}
	return &wanted
}
