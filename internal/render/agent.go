// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Agent is the container beside memcached that serves metrics and gives memcached certificates and users.
type Agent struct {
	Name, Image string
	// TLS and Auth are the settings of memcached, or nil.
	TLS  *cachev1alpha1.MemcachedTLS
	Auth *cachev1alpha1.MemcachedAuth
	// Beside are the resources of the memcached container.
	Beside cachev1alpha1.MemcachedResources
	// Proxy reports that memcached is a proxy.
	Proxy bool
}

// metricsPort is the name of the agent's port for scrapers and probes, and metricsPortNumber is its number.
const (
	metricsPort       = "metrics"
	metricsPortNumber = 9150
)

// Container returns the agent as a sidecar: it starts before memcached and stops after it
// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
func (a Agent) Container() corev1.Container {
	return corev1.Container{
		Name:            a.Name,
		Image:           a.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		RestartPolicy:   ptr.To(corev1.ContainerRestartPolicyAlways),
		Command:         []string{"/agent"},
		Args:            a.args(),
		Ports:           []corev1.ContainerPort{{Name: metricsPort, ContainerPort: metricsPortNumber, Protocol: corev1.ProtocolTCP}},
		Resources:       a.resources(),
		VolumeMounts:    a.mounts(),
		StartupProbe:    a.startupProbe(),
		// A memcached that stops answering leaves the Service within 13 s. When it answers again, it returns within 5 s.
		ReadinessProbe: agentProbe("/readyz", 5, 2),
		// Liveness checks only the agent, because restarting the agent does not repair memcached.
		LivenessProbe:   agentProbe("/livez", 10, 6),
		SecurityContext: Restricted(),
	}
}

func (a Agent) args() []string {
	args := []string{"--memcached=127.0.0.1:11211", "--listen=:9150"}
	if a.Proxy {
		args = append(args, "--launcher=127.0.0.1:9151")
	}
	if a.TLS != nil {
		args = append(args, "--tls-secret="+tlsSourcePath, "--tls=127.0.0.1:11212")
	}
	if a.requiresClientCertificates() {
		args = append(args, "--client-ca")
	}
	if a.Auth != nil {
		args = append(args, "--users-secret="+usersSourcePath)
	}
	if a.HasCredentials() {
		args = append(args, "--credentials="+checkedPath)
	}
	return args
}

// resources are enough for two concurrent scrapes of a node with all slab classes, and for two versions of the credentials in
// memory. Kubernetes counts that memory for the container that writes it. A CPU limit would slow scrapes down, so the agent has one
// only if memcached has one: the pod may then be Guaranteed, and must stay so.
func (a Agent) resources() corev1.ResourceRequirements {
	memory := "24Mi"
	if a.HasCredentials() {
		memory = "32Mi"
	}
	return SmallResources(a.Beside, memory)
}

// startupProbe keeps memcached from starting until the agent has valid credentials, however long that takes. If the kubelet killed
// a waiting agent, the kubelet's back-off would delay the next start by minutes.
func (a Agent) startupProbe() *corev1.Probe {
	if !a.HasCredentials() {
		return nil
	}
	const always = 1<<31 - 1
	return agentProbe("/startupz", 1, always)
}

func agentProbe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     HTTPGet(path, metricsPort),
		PeriodSeconds:    period,
		TimeoutSeconds:   3,
		SuccessThreshold: 1,
		FailureThreshold: failures,
	}
}
