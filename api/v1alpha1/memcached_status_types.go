// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedStatus is the observed state of a Memcached.
type MemcachedStatus struct {
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of pods that are neither terminating nor failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that exist",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of nodes that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that are ready",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of nodes that run the current configuration.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that are up to date",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector selects the pods of the nodes, for the scale subresource.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector of the pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Selector string `json:"selector,omitempty"`

	// nodes are the names of these pods, sorted by name or number.
	// +optional
	// +listType=set
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Names of the nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Nodes []string `json:"nodes,omitempty"`

	// servers are the addresses of the nodes of a StatefulSet as host:port, sorted by number. They outlive pods. A node of a larger size
	// joins when it has been ready once. The ConfigMap NAME-servers has the same list.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Addresses of the nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Servers []string `json:"servers,omitempty"`

	// address is the host:port of the proxies, to which clients connect.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Address",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Address string `json:"address,omitempty"`

	// proxies are those of spec.proxy.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Proxies *MemcachedProxiesStatus `json:"proxies,omitempty"`

	// image is the image that the nodes run, or will run after the rollout.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image of the nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// version is memcached's version in the image's tag, or "unknown".
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Version of memcached",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Version string `json:"version,omitempty"`

	// serviceName is the name of the headless Service of the nodes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Service",xDescriptors={"urn:alm:descriptor:io.kubernetes:Service"}
	ServiceName string `json:"serviceName,omitempty"`

	// conditions are Ready (all is as the spec says), Available (enough nodes serve), Progressing (a change is under way) and Degraded
	// (something prevents the desired state). Reconciling, Stalled (somebody may have to act) and NeedsAttention (serving nodes report a
	// problem) exist only while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:items:XValidation:rule="self.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z')",message="status.conditions[].lastTransitionTime must be a time that Go can read, such as 2026-01-01T00:00:00Z"
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
