// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// agentOf returns the settings from which the agent's container and volumes follow. Pods have an agent only if memcached.WantsAgent
// says so.
func agentOf(mc *cachev1alpha1.Memcached, defaults podDefaults) render.Agent {
	return render.Agent{
		Name: memcached.AgentContainerName, Image: string(defaults.Images[memcached.AgentContainerName]),
		TLS: mc.Spec.TLS, Auth: mc.Spec.Auth, Beside: mc.Spec.Resources,
	}
}

// agents returns the container of the agent, or none if the spec needs no agent.
func agents(mc *cachev1alpha1.Memcached, defaults podDefaults) []corev1.Container {
	if !memcached.WantsAgent(mc) {
		return nil
	}
	return []corev1.Container{agentOf(mc, defaults).Container()}
}

// needsAgentImage reports whether pods need the image of the agent, which also contains the launcher.
func needsAgentImage(mc *cachev1alpha1.Memcached) bool {
	return memcached.WantsAgent(mc) || hasLauncher(mc)
}

// checkAgentImage returns a problem if pods need the image of the agent, but the operator does not know it.
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
