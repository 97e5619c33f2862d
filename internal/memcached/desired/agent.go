// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// agentOf returns the settings from which the agent's container and volumes follow. Only the pods of a StatefulSet have an agent.
func agentOf(mc *cachev1alpha1.Memcached, defaults podDefaults) render.Agent {
	image := string(defaults.Images[memcached.AgentContainerName])
	return render.Agent{Image: image, TLS: mc.Spec.TLS, Auth: mc.Spec.Auth, Beside: mc.Spec.Resources}
}

// checkAgentImage returns a problem if pods need the image of the agent, but the operator does not know it.
func checkAgentImage(mc *cachev1alpha1.Memcached, defaults podDefaults) *memcached.Problem {
	if !memcached.IsStatefulSet(mc) || defaults.Images[memcached.AgentContainerName] != "" {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: fmt.Sprintf("spec.workload StatefulSet needs the image of "+
		"the agent, which the operator does not know: set its environment variable %s", memcached.AgentImageVariable)}
}
