// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedMonitoring configures an agent for each memcached.
type MemcachedMonitoring struct {
	// enabled is whether each pod has a second container, memcached-agent. It serves memcached's metrics at /metrics on port 9150,
	// named metrics, under the names of the Prometheus exporter for memcached. The pod is then ready only while memcached answers.
	// It takes 24 MiB of memory and 10m of CPU, or 100m if resources limit CPU. Its image is pulled with imagePullSecrets, unless
	// the cluster node has it. The default is false. A change replaces the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:monitoring","urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled,omitempty"`
}
