// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
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

// ClientPorts returns the ports of the nodes that clients can reach, the plaintext port first. So the first port, which is
// announced to clients, does not change while clients move to TLS.
func ClientPorts(mc *cachev1alpha1.Memcached) []ClientPort { return PortsWith(mc.Spec.TLS) }

// PortsWith returns the client ports for the TLS settings in wanted. Without TLS, wanted is nil.
func PortsWith(wanted *cachev1alpha1.MemcachedTLS) []ClientPort {
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

// openPorts returns the client ports that the memcached container in a pod template opens.
func openPorts(template *corev1.PodTemplateSpec) []ClientPort {
	var open []ClientPort
	for _, container := range template.Spec.Containers {
		for _, port := range container.Ports {
			switch {
			case container.Name != ContainerName:
			case port.Name == plaintext.Name:
				open = append(open, plaintext)
			case port.Name == tls.Name:
				open = append(open, tls)
			}
		}
	}
	return open
}

// HasPlaintext reports whether clients can connect without TLS.
func HasPlaintext(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.TLS == nil || mc.Spec.TLS.Plaintext == cachev1alpha1.PlaintextEnabled
}
