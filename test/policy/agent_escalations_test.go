// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func agentEscalations() []podEscalation {
	const program, probe = "command, args: must run the agent with the options of the operator", "must be httpGet of /livez, /readyz and /startupz"
	return []podEscalation{
		{"an agent that ends before memcached starts", "containers", "there must be one container, memcached", ofAgent(func(c *corev1.Container) {
			c.RestartPolicy, c.LivenessProbe, c.ReadinessProbe = nil, nil, nil
		})},
		{"another program beside memcached", "containers", program, ofAgent(func(c *corev1.Container) { c.Command = []string{"sh"} })},
		{"an agent that asks another host", "containers", program, ofAgent(func(c *corev1.Container) { c.Args[0] = "--memcached=203.0.113.7:80" })},
		{"an agent with a Secret", "containers", "env, envFrom: there must be none", ofAgent(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "credentials"}}}}
		})},
		{"a port of the node for the agent", "containers", "without hostPort", ofAgent(func(c *corev1.Container) { c.Ports[0].HostPort = 9150 })},
		{"the port of memcached for the agent", "containers", "9150 of the agent", ofAgent(func(c *corev1.Container) { c.Ports[0].ContainerPort = 11211 })},
		{"a probe of the agent that asks another host", "containers", probe, ofAgent(func(c *corev1.Container) {
			c.ReadinessProbe.HTTPGet.Host = "169.254.169.254"
		})},
		{"a probe of the agent with a header", "containers", probe, ofAgent(func(c *corev1.Container) {
			c.LivenessProbe.HTTPGet.HTTPHeaders = []corev1.HTTPHeader{{Name: "Host", Value: "metadata"}}
		})},
		{"a probe of the agent that runs a program", "containers", probe, ofAgent(func(c *corev1.Container) {
			c.ReadinessProbe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}
		})},
		{"a hook of the agent", "containers", "lifecycle: must be a sleep before the stop", ofAgent(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}}
		})},
		{"a privileged agent", "containers", "privileged must not be set", ofAgent(func(c *corev1.Container) {
			c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = ptr.To(true), ptr.To(true)
		})},
		{"an agent with capabilities", "containers", "capabilities: must drop ALL", ofAgent(func(c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		})},
		{"an agent as another user", "containers", "must not set what that of the pod says", ofAgent(func(c *corev1.Container) {
			c.SecurityContext.RunAsUser = ptr.To(int64(0))
		})},
	}
}
