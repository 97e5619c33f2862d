// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// ManagedByLabel and its value ManagedBy mark all children and their pods. The operator's caches leave out children and pods
// without this label.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "memcached-operator"
)

// InstanceLabel holds the name of the Memcached.
const InstanceLabel = "app.kubernetes.io/instance"

// NameLabel has the value nodeName on nodes and the objects that are about them, and ProxyName on proxies and theirs. So selectors of nodes
// never match proxies.
const (
	NameLabel = "app.kubernetes.io/name"
	nodeName  = "memcached"
	ProxyName = "memcached-proxy"
)

// Suffixes of the names of children. The headless Service of the nodes is NAME-nodes, and most children of the proxies are NAME-proxy. The
// Service NAME leads to the proxies, and exists only with them: no name resolves that is not safe to use as an address.
const (
	NodesSuffix = "-nodes"
	ProxySuffix = "-proxy"
	// RoutesSuffix ends the name of the ConfigMap with the routes of the proxies.
	RoutesSuffix = "-routes"
)

// ContainerName is the name of the container that runs memcached.
const ContainerName = "memcached"

// AgentContainerName is the name of the sidecar that observes memcached and supplies it with certificates and users.
const AgentContainerName = "memcached-agent"

// InstallContainerName is the name of the init container that copies the program that is memcached's parent.
const InstallContainerName = "install-agent"

// ParentPort is the port on which memcached's parent serves its status and the probes.
const ParentPort = 9151

// WakeAnnotation is a pod annotation with the number of the node's entry (ArgumentsSuffix). When the annotation changes, the kubelet
// updates the pod's ConfigMaps at once.
const WakeAnnotation = "cache.example.com/arguments"

// KubectlRestartedAt is the annotation of the pod template that "kubectl rollout restart" sets.
const KubectlRestartedAt = "kubectl.kubernetes.io/restartedAt"

// RestartedAtAnnotation is an annotation of the pods of a Deployment. It holds spec.restartedAt.
const RestartedAtAnnotation = "cache.example.com/restarted-at"

// MetricsPort is the port on which agents serve metrics. The Prometheus exporter for memcached uses the same port.
const MetricsPort = 9150

// Port is memcached's registered port, on which the nodes serve without TLS.
const Port = 11211

// TLSPort is the port on which the nodes serve TLS.
const TLSPort = 11212

// SelectorLabels returns the labels that select the nodes of a Memcached. They contain no version, because selectors are immutable.
func SelectorLabels(mc *cachev1alpha1.Memcached) map[string]string { return NodeLabels(mc.Name) }

// NodeLabels returns the labels of the objects that are about the nodes of a Memcached of this name.
func NodeLabels(name string) map[string]string {
	return map[string]string{NameLabel: nodeName, InstanceLabel: name, ManagedByLabel: ManagedBy}
}

// ProxyLabels returns the labels of the objects that are about the proxies of a Memcached of this name. They also select the proxies.
func ProxyLabels(name string) map[string]string {
	return map[string]string{NameLabel: ProxyName, InstanceLabel: name, ManagedByLabel: ManagedBy}
}
