// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedFillFrom names the cache from which empty nodes copy items.
type MemcachedFillFrom struct {
	// name is the name of another Memcached in the namespace, in at most 52 characters. Each empty node copies the items of the node
	// with the same number there, before it becomes ready. The operator replaces and restarts nodes one at a time, and only while all
	// nodes of the other Memcached are ready. Both need workload StatefulSet, config.dump true, storage Memory and no auth; with tls,
	// plaintext must be Enabled. The Service then also lists nodes that are not ready.
	// +required
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="spec.fillFrom.name must be the name of a Memcached of the namespace: lowercase letters, digits and '-', starting with a letter"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fillFrom","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Name string `json:"name"`
}
