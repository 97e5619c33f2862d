// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"strconv"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// ServersSuffix comes after the name of the Memcached in the name of the ConfigMap with its servers.
const ServersSuffix = "-servers"

// Host is the name of the Service in the DNS of the cluster. Resolvers of pods add the domain of the cluster.
func Host(mc *cachev1alpha1.Memcached) string { return mc.Name + "." + mc.Namespace + ".svc" }

// Servers are the addresses of the slots of a StatefulSet, as host:port in the order of their numbers, with the first of the ports
// for clients that the StatefulSet opens. Whatever pod fills a slot, its address is the same, so the list changes with the size and
// the port only. There is none, nil, with a Deployment and while the cache moves from one workload to another. With size 0 it is
// empty.
//
// The slots are those that the StatefulSet asks for, and at most as many as the spec does: a larger size that is refused adds
// none. While a pause holds back a smaller size or a move, the slots stay. So do those of the last status when somebody else has
// deleted the StatefulSet or scaled it down, which the operator undoes. Once reported for the present spec, they stay although a
// cache that lags behind shows the other workload again: the move is over.
func (v View) Servers() []string {
	return v.serversAt(v.ports()[0])
}

// ServerPort is the port of Servers.
func (v View) ServerPort() int { return int(v.ports()[0].Number) }

// TLSServers are the same with the port for TLS, nil if the StatefulSet does not open it.
func (v View) TLSServers() []string {
	if slices.Contains(v.ports(), tls) {
		return v.serversAt(tls)
	}
	return nil
}

// ports returns the client ports that the StatefulSet opens, or those in the spec if there is no StatefulSet yet.
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

// slots is how many servers there are, less than 0 if there is no list.
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
