// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// agent is the program beside memcached: as a sidecar, it serves metrics and gives memcached certificates and users. The same program is
// memcached's parent.
type agent struct {
	image string
	// tls and auth are spec.tls and spec.auth, or nil.
	tls  *cachev1alpha1.MemcachedTLS
	auth *cachev1alpha1.MemcachedAuth
	// resources is spec.agent.resources. beside has the resources of the memcached container.
	resources, beside cachev1alpha1.MemcachedResources
	// proxy is true if memcached is a proxy.
	proxy bool
}

// metricsPort is the name of the port at which the agent serves metrics and probes.
const metricsPort = "metrics"

// addTo adds to a pod the containers that start before memcached, one that installs the program and the sidecar, and what memcached and the
// agent need for certificates and users.
func (a agent) addTo(spec *corev1.PodSpec) {
	spec.InitContainers = []corev1.Container{a.installer(spec.Containers[0].Resources), a.sidecar()}
	if !a.hasCredentials() {
		return
	}
	// The agent sends memcached the signal on which memcached reads its certificates and users again.
	spec.ShareProcessNamespace = ptr.To(true)
	spec.Volumes = append(spec.Volumes, a.volumes()...)
	server := &spec.Containers[0]
	server.VolumeMounts = append(server.VolumeMounts, corev1.VolumeMount{Name: checkedVolume, MountPath: checkedPath, ReadOnly: true})
}

// sidecar returns the agent as a sidecar: it starts before memcached and stops after it
// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
func (a agent) sidecar() corev1.Container {
	return corev1.Container{
		Name:            memcached.AgentContainerName,
		Image:           a.image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		RestartPolicy:   ptr.To(corev1.ContainerRestartPolicyAlways),
		Command:         []string{"/agent", "sidecar"},
		Args:            a.args(),
		Ports:           []corev1.ContainerPort{{Name: metricsPort, ContainerPort: memcached.MetricsPort, Protocol: corev1.ProtocolTCP}},
		Resources:       a.requirements(),
		VolumeMounts:    a.mounts(),
		StartupProbe:    a.startupProbe(),
		// A memcached that stops answering is removed from the Service within 13 s. It is added again within 5 s after it answers.
		ReadinessProbe: agentProbe("/readyz", 5, 2),
		// This probe checks only the agent, because a restart of the agent does not repair memcached.
		LivenessProbe:   agentProbe("/livez", 10, 6),
		SecurityContext: restricted(),
	}
}

func (a agent) args() []string {
	args := []string{"--memcached=127.0.0.1:11211", "--listen=:9150"}
	if a.proxy {
		args = append(args, "--proxy")
	}
	if a.tls != nil {
		args = append(args, "--tls-secret="+tlsSourcePath, "--tls=127.0.0.1:11212")
	}
	if requiresClientCertificates(a.tls) {
		args = append(args, "--client-ca")
	}
	if a.auth != nil {
		args = append(args, "--users-secret="+usersSourcePath)
	}
	if a.hasCredentials() {
		args = append(args, "--credentials="+checkedPath)
	}
	return args
}

// requirements returns the resources in the spec. Its defaults, the least that agentNeed in rules.tmpl allows, are enough for two
// simultaneous scrapes of a node with all slab classes, and for two versions of the files on the memory volume. These files count against
// the agent's memory limit, because the agent writes them. A CPU limit would slow scrapes down, so the agent has one only if memcached
// does.
func (a agent) requirements() corev1.ResourceRequirements {
	memory := "24Mi"
	if a.hasCredentials() {
		memory = "32Mi"
	}
	resources := resourcesOf(a.resources, memory)
	if _, given := resources.Requests[corev1.ResourceCPU]; given {
		return resources
	}
	resources.Requests[corev1.ResourceCPU] = resource.MustParse("10m")
	if _, limited := a.beside.Limits[corev1.ResourceCPU]; limited { // so that the pod can be Guaranteed
		cpu := resource.MustParse("100m")
		resources.Requests[corev1.ResourceCPU], resources.Limits[corev1.ResourceCPU] = cpu, cpu
	}
	return resources
}

// startupProbe keeps memcached from starting until the agent has valid certificates and users, however long that takes. If the kubelet
// killed a waiting agent, the kubelet would delay each further start of the agent longer.
func (a agent) startupProbe() *corev1.Probe {
	if !a.hasCredentials() {
		return nil
	}
	return agentProbe("/startupz", 1, always)
}

func agentProbe(path string, period, failures int32) *corev1.Probe {
	return probe(httpGet(path, metricsPort), period, 3, failures)
}
