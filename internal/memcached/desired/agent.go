// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// metricsPortName is what scrapers and the probes of the agent call its port.
const metricsPortName = "metrics"

// wantsAgent reports whether an agent runs beside memcached: one that serves its metrics, or hands it certificates and users.
func wantsAgent(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.Monitoring.Enabled || hasCredentials(mc)
}

// agents returns the native sidecars: the agent, if the spec needs one. They start before memcached and stop after it
// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
func agents(mc *cachev1alpha1.Memcached, defaults podDefaults) []corev1.Container {
	if !wantsAgent(mc) {
		return nil
	}
	return []corev1.Container{{
		Name:            memcached.AgentContainerName,
		Image:           string(defaults.Images[memcached.AgentContainerName]),
		ImagePullPolicy: corev1.PullIfNotPresent,
		RestartPolicy:   ptr.To(corev1.ContainerRestartPolicyAlways),
		Command:         []string{"/agent"},
		Args:            agentArgs(mc),
		Ports: []corev1.ContainerPort{{
			Name: metricsPortName, ContainerPort: memcached.MetricsPort, Protocol: corev1.ProtocolTCP,
		}},
		Resources:    agentResources(mc),
		VolumeMounts: agentMounts(mc),
		StartupProbe: agentStartupProbe(mc),
		// A node that does not answer leaves the Service within 13 s. One that answers again returns within 5 s.
		ReadinessProbe: httpProbe("/readyz", 5, 2),
		// Liveness is about the agent alone: restarting it does not help a broken memcached.
		LivenessProbe:   httpProbe("/livez", 10, 6),
		SecurityContext: render.Restricted(),
	}}
}

// needsAgentImage reports whether pods have a container of the agent's image: the agent, or the launcher.
func needsAgentImage(mc *cachev1alpha1.Memcached) bool { return wantsAgent(mc) || hasLauncher(mc) }

// checkAgentImage refuses an agent or a launcher without an image.
func checkAgentImage(mc *cachev1alpha1.Memcached, defaults podDefaults) *memcached.Problem {
	if !needsAgentImage(mc) || defaults.Images[memcached.AgentContainerName] != "" {
		return nil
	}
	field, remedy := "spec.monitoring.enabled", "disable monitoring"
	switch {
	case mc.Spec.TLS != nil:
		field, remedy = "spec.tls", "remove spec.tls"
	case mc.Spec.Auth != nil:
		field, remedy = "spec.auth", "remove spec.auth"
	case hasLauncher(mc):
		field, remedy = "spec.workload StatefulSet", "set spec.workload to Deployment"
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: fmt.Sprintf("%s needs the image of the agent, which "+
		"the operator does not know: set its environment variable %s, or %s", field, memcached.AgentImageVariable, remedy)}
}

// agentResources suffice for a scrape of a node that uses every slab class, twice at once, and for two versions of the credentials
// in memory, which are charged to the container that writes them. A CPU limit would only slow scrapes down, but a pod that the spec
// makes Guaranteed stays so.
func agentResources(mc *cachev1alpha1.Memcached) corev1.ResourceRequirements {
	memory := "24Mi"
	if hasCredentials(mc) {
		memory = "32Mi"
	}
	return render.SmallResources(mc.Spec.Resources, memory)
}

func httpProbe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     render.HTTPGet(path, metricsPortName),
		PeriodSeconds:    period,
		TimeoutSeconds:   3,
		SuccessThreshold: 1,
		FailureThreshold: failures,
	}
}
