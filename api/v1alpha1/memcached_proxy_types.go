// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedProxy configures the proxies: any client can use the whole cache at the address in status.address. Each proxy finds the node of
// each key, and stores nothing. The image, scheduling, podMetadata, networkPolicy.from, tls and config.maxConnections are those of the
// proxies, too; only proxies may connect to the nodes then. TLS ends at the proxies: what they send to the nodes is plaintext.
type MemcachedProxy struct {
	// size is the number of proxies, from 0 to 1000. The default is 2, which others may change: the operator then leaves the number to
	// them, such as a HorizontalPodAutoscaler for the Deployment NAME-proxy, where NAME is the name of the Memcached. No change moves a key.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Number of proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:proxy","urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// threads is the number of worker threads of each proxy, from 1 to 64. Each thread has a connection to each node. The default is the
	// CPU limit rounded up, or 1 without a CPU limit. A change replaces the proxies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Worker threads of a proxy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:proxy","urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Threads int32 `json:"threads,omitempty"`

	// resources are the compute resources of each proxy. A HorizontalPodAutoscaler by CPU needs a CPU request. A change replaces the proxies.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources of a proxy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:proxy","urn:alm:descriptor:com.tectonic.ui:resourceRequirements","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Resources MemcachedResources `json:"resources,omitzero"`
}

// MemcachedProxiesStatus is the observed state of the proxies.
type MemcachedProxiesStatus struct {
	// size is the number of proxies that there should be.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Number of proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Size int32 `json:"size"`

	// ready is the number of proxies that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxies that are ready",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Ready int32 `json:"ready"`

	// nodes is the number of nodes over which the proxies spread the keys now. Another number is announced two minutes before it takes
	// effect, so that all proxies change at the same time.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that the proxies use",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Nodes int32 `json:"nodes"`
}
