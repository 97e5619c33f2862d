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

	// replicas is the number of nodes that exist and are not terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that exist",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of those nodes that are ready.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that are ready",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of nodes that run the current configuration.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes that are up to date",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector selects the pods of the nodes, for the scale subresource.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector of the pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Selector string `json:"selector,omitempty"`

	// nodes are the names of the pods, sorted: those of this Memcached that are not terminating.
	// +optional
	// +listType=set
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Names of the nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Nodes []string `json:"nodes,omitempty"`

	// image is the image that the nodes run, or are being rolled to.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image of the nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// serviceName is the name of the headless Service, whose DNS name lists the ready nodes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Service",xDescriptors={"urn:alm:descriptor:io.kubernetes:Service"}
	ServiceName string `json:"serviceName,omitempty"`

	// conditions are Ready (everything is as the spec says; for kubectl wait), Available (enough nodes serve), Progressing
	// (the operator or the cluster is working on a change) and Degraded (something prevents the desired state; the message
	// says what). All four are present once the operator has seen the Memcached.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:items:XValidation:rule="self.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z')",message="status.conditions[].lastTransitionTime must be a time that Go can read, such as 2026-01-01T00:00:00Z"
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
