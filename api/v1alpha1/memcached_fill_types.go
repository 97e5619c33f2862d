// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedFillFrom names the cache from which empty nodes copy items.
type MemcachedFillFrom struct {
	// name is the name of another Memcached in the namespace, in at most 52 characters. The other Memcached must meet the same
	// requirements as one with fillFrom. Both should be pools of the same MemcachedProxy. A node is not filled if the other Memcached
	// has no node with its number.
	// +required
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="spec.fillFrom.name must be the name of a Memcached of the namespace: lowercase letters, digits and '-', starting with a letter"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fillFrom","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Name string `json:"name"`
}
