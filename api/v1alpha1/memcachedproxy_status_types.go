// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedProxyStatus is the observed state of a MemcachedProxy.
type MemcachedProxyStatus struct {
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of proxies: the pods that are neither terminating nor failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxies that exist",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of proxies that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxies that are ready",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of proxies that run the current configuration.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxies that are up to date",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector selects the pods of the proxies, for the scale subresource.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector of the pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Selector string `json:"selector,omitempty"`

	// image is the image that the proxies run, or will run after the rollout.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Image of the proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// address is the host:port to which clients connect.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Address",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Address string `json:"address,omitempty"`

	// routes is the number of nodes that the proxies use, now and next. It is absent until the pool has servers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Routes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Routes *MemcachedProxyRoutes `json:"routes,omitempty"`

	// conditions are Ready (everything is as the spec says), Available (proxies serve), Progressing (a change is being carried out)
	// and Degraded (something prevents the desired state; the message says what). All four exist once the operator has handled the
	// MemcachedProxy. While Ready is False, there is also Reconciling or, if somebody may have to act, Stalled, for tools that use
	// kstatus.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:items:XValidation:rule="self.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z')",message="status.conditions[].lastTransitionTime must be a time that Go can read, such as 2026-01-01T00:00:00Z"
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MemcachedProxyRoutes is the number of nodes that the proxies use, now and next. Another number is announced two minutes before it
// takes effect, so that all proxies change at the same time.
type MemcachedProxyRoutes struct {
	// nodes is the number of nodes over which the proxies spread the keys now.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Nodes int32 `json:"nodes"`

	// next is the announced number of nodes. It is absent if none is announced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Next number of nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Next *int32 `json:"next,omitempty"`

	// from is when the announced number takes effect. It is absent if none is announced.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="From",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	From *metav1.Time `json:"from,omitempty"`

	// proxies is how many ready proxies have read these routes, as far as the operator knows. It is absent if all have read them and
	// no other number of nodes is announced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Proxies with the routes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Proxies *int32 `json:"proxies,omitempty"`
}
