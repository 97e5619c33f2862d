// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// ServersSuffix is appended to a Memcached's name to form the name of the ConfigMap that lists its servers.
const ServersSuffix = "-servers"

// Host returns the DNS name of the Service of the nodes. Resolvers in pods append the cluster's domain.
func Host(mc *cachev1alpha1.Memcached) string {
	return mc.Name + NodesSuffix + "." + mc.Namespace + ".svc"
}

// Servers returns the addresses of the nodes of a StatefulSet as host:port with the first client port, sorted by node number. The list is
// nil with a Deployment. At the first start, it has an address for each pod that could be created. Any other node joins when it has been
// ready once. There are no more than spec.size addresses unless the Memcached is paused. If somebody deletes the StatefulSet or scales it
// down, the list stays as it is, because the operator undoes that.
func (v View) Servers() []string {
	return v.serversAt(v.ports()[0])
}

// KnownServers returns the addresses of Servers for the status. Of a first start, they are known when the workload's controller has said
// which pods it could create.
func (v View) KnownServers() []string { return v.Servers()[:v.knownServers()] }

func (v View) knownServers() int {
	count := max(v.slots(), 0)
	if v.Workload == nil || v.Workload.Replicas == 0 {
		count = min(count, v.Last.Servers)
	}
	return count
}

// ServerPort returns the port in the addresses that Servers returns.
func (v View) ServerPort() int { return int(v.ports()[0].Number) }

// TLSServers returns the addresses of Servers with the TLS port instead, or nil if the StatefulSet does not open that port.
func (v View) TLSServers() []string {
	if slices.Contains(v.ports(), tls) {
		return v.serversAt(tls)
	}
	return nil
}

// ports returns the client ports that the workload opens. If there is no workload, or it opens no client port, they come from the spec.
func (v View) ports() []ClientPort {
	wanted, set := ClientPorts(NodeTLS(v.Memcached)), v.Workload
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

// slots returns the number of addresses in the list of servers, or a negative number if there is no list.
func (v View) slots() int {
	mc, set := v.Memcached, v.Workload
	if !IsStatefulSet(mc) {
		return -1
	}
	size, slots := int(mc.Spec.Size), v.Last.Servers
	switch {
	case set == nil && (!mc.Spec.Paused || slots == 0):
		slots = size
	case set != nil && slots == 0: // the first start
		slots = int(min(cmp.Or(set.Replicas, set.Size), set.Size))
	case set != nil:
		for slots < int(set.Size) && v.ready(slots) {
			slots++
		}
	}
	if !mc.Spec.Paused {
		slots = min(slots, size)
	}
	return slots
}

// ready reports whether the node with this number is ready in every copy.
func (v View) ready(ordinal int) bool {
	for number := range v.Workloads {
		if node := v.Node(CopyName(v.Memcached, number) + "-" + strconv.Itoa(ordinal)); node == nil || !PodReady(node) {
			return false
		}
	}
	return true
}

// ClientPort is a port of the nodes that clients can reach.
type ClientPort struct {
	// Name is the name of the port in the Service and the pods.
	Name   string
	Number int32
}

var (
	plaintext = ClientPort{Name: "memcached", Number: Port}
	tls       = ClientPort{Name: "memcached-tls", Number: TLSPort}
)

// ClientPorts returns the ports that clients can reach with these TLS settings, which are nil without TLS. The plaintext port is first. So
// the first port, which is announced to clients, does not change while clients move to TLS.
func ClientPorts(wanted *cachev1alpha1.MemcachedTLS) []ClientPort {
	var ports []ClientPort
	if wanted == nil || wanted.Plaintext == cachev1alpha1.PlaintextEnabled {
		ports = append(ports, plaintext)
	}
	if wanted != nil {
		ports = append(ports, tls)
	}
	return ports
}

// ServicePorts returns the ports of a Service for these client ports.
func ServicePorts(ports []ClientPort) []corev1.ServicePort {
	var service []corev1.ServicePort
	for _, port := range ports {
		service = append(service, corev1.ServicePort{
			Name: port.Name, Protocol: corev1.ProtocolTCP, Port: port.Number, TargetPort: intstr.FromString(port.Name),
		})
	}
	return service
}

// ContainerPorts returns these client ports as ports of a container.
func ContainerPorts(ports []ClientPort) []corev1.ContainerPort {
	var container []corev1.ContainerPort
	for _, port := range ports {
		container = append(container, corev1.ContainerPort{Name: port.Name, ContainerPort: port.Number, Protocol: corev1.ProtocolTCP})
	}
	return container
}

// openPorts returns the client ports that the memcached container in a pod template opens.
func openPorts(template *corev1.PodTemplateSpec) []ClientPort {
	var open []ClientPort
	container := ContainerOf(&template.Spec, ContainerName)
	for _, port := range []ClientPort{plaintext, tls} {
		if container != nil && slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Name }) {
			open = append(open, port)
		}
	}
	return open
}

// HasPlaintext reports whether clients, or proxies, can connect to the nodes without TLS.
func HasPlaintext(mc *cachev1alpha1.Memcached) bool {
	return NodeTLS(mc) == nil || mc.Spec.TLS.Plaintext == cachev1alpha1.PlaintextEnabled
}
