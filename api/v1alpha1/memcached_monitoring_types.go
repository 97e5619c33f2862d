// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedMonitoring configures the agent that serves metrics.
type MemcachedMonitoring struct {
	// enabled is whether each pod has the container memcached-agent. With tls or auth, each pod has it anyway. The agent serves
	// memcached's metrics at /metrics on port 9150, under the names of the Prometheus exporter for memcached. The pod is ready only
	// while memcached answers the agent. The agent takes 24 MiB of memory, or 32 MiB with tls or auth, and 10m of CPU, or 100m if
	// resources limit CPU. Its image is pulled with imagePullSecrets, unless the cluster node has it. The default is false. A
	// change that adds or removes the agent replaces the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:monitoring","urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled,omitempty"`
}
