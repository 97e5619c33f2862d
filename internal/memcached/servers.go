// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"strconv"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// ServersSuffix ends the name of the ConfigMap that lists the servers of a Memcached.
const ServersSuffix = "-servers"

// Host returns the DNS name of the Service. Resolvers in pods append the cluster's domain.
func Host(mc *cachev1alpha1.Memcached) string { return mc.Name + "." + mc.Namespace + ".svc" }

// Servers returns the addresses of the nodes of a StatefulSet as host:port, sorted by number. The port is the first client port. A
// pod's replacement has the same address, so the list changes only with the size and the port. The list is nil with a Deployment,
// and during a move between workloads. With size 0 it is empty.
//
// The list has one entry for each replica of the StatefulSet, but at most spec.size entries. If the API server refuses a larger
// size, the list stays as it is. During a pause, the list does not follow spec.size.
//
// The list of the last status stays in two cases. First, somebody has deleted the StatefulSet or scaled it down, which the operator
// undoes. Second, the status has listed servers for the current spec, but the cache still shows the other workload: then the move
// is over, and the cache lags behind.
func (v View) Servers() []string {
	return v.serversAt(v.ports()[0])
}

// ServerPort returns the port in Servers.
func (v View) ServerPort() int { return int(v.ports()[0].Number) }

// TLSServers returns the list of Servers with the TLS port, or nil if the StatefulSet does not open that port.
func (v View) TLSServers() []string {
	if slices.Contains(v.ports(), tls) {
		return v.serversAt(tls)
	}
	return nil
}

// ports returns the client ports that the StatefulSet opens. Without a StatefulSet, they come from the spec.
func (v View) ports() []ClientPort {
	wanted, set := ClientPorts(v.Memcached), v.Workload
	if WorkloadKind(v.Memcached) != cachev1alpha1.WorkloadStatefulSet {
		set = v.Former
	}
	if set == nil {
		return wanted
	}
	if open := openPorts(set.Template); len(open) > 0 {
		return open
	}
	return wanted
}

func (v View) serversAt(port ClientPort) []string {
	slots, mc := v.slots(), v.Memcached
	if slots < 0 {
		return nil
	}
	servers := make([]string, slots)
	rest := "." + Host(mc) + ":" + strconv.Itoa(int(port.Number))
	for i := range servers {
		servers[i] = mc.Name + "-" + strconv.Itoa(i) + rest
	}
	return servers
}

// slots returns the number of servers, or a negative number if there is no list.
func (v View) slots() int {
	mc, set, other := v.Memcached, v.Workload, v.Former
	wanted := WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet
	if !wanted {
		set, other = other, set
	}
	size, slots := int(mc.Spec.Size), v.Last.Servers
	reported := slots > 0 && v.Last.Generation == mc.Generation
	switch {
	case !wanted && (!mc.Spec.Paused || set == nil && slots == 0), other != nil && !reported:
		return -1
	case set != nil:
		slots = max(slots, int(set.Size))
	case !mc.Spec.Paused || slots == 0:
		slots = size
	}
	if !mc.Spec.Paused {
		slots = min(slots, size)
	}
	return slots
}
