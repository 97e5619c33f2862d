// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

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

// HasPlaintext reports whether clients can connect without TLS.
func HasPlaintext(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.TLS == nil || mc.Spec.TLS.Plaintext == cachev1alpha1.PlaintextEnabled
}
