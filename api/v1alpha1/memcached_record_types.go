// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedRecord is what the operator last applied to the pods of a StatefulSet. It tells a new spec from a
// newer operator.
type MemcachedRecord struct {
	// templateHash is the hash of the pod template without the settings in defaults. It depends only on the spec. If a new spec
	// changes it, the nodes are replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Hash of the pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	TemplateHash string `json:"templateHash,omitempty"`

	// argumentsHash is the hash of memcached's arguments, if all nodes of a StatefulSet run with them. It is absent while nodes
	// change to other arguments.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Hash of the arguments",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ArgumentsHash string `json:"argumentsHash,omitempty"`

	// restartedAt is the last spec.restartedAt that was applied to the nodes. It stays when spec.restartedAt is removed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:01Z') && self <= timestamp('9999-12-31T23:59:59Z')",message="status.lastApplied.restartedAt must be a time that Go can read, such as 2026-01-01T00:00:00Z"
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last restart",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	RestartedAt *metav1.Time `json:"restartedAt,omitempty"`

	// rolloutRestartedAt is the time of the last kubectl rollout restart of a StatefulSet, from the pod template. Each new restart
	// of this kind adopts the current defaults of the operator.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last rollout restart",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	RolloutRestartedAt string `json:"rolloutRestartedAt,omitempty"`

	// defaults are settings of the nodes that the operator chose. A newer operator keeps them until a new spec replaces the nodes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Defaults",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Defaults MemcachedDefaults `json:"defaults,omitzero"`

	// former says what the nodes were like before the current rollout. If the spec is taken back, nodes that still match it stay as
	// they are. It is absent without a rollout, after kubectl rollout restart, and if only arguments of memcached change.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Before the rollout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Former *MemcachedFormerRecord `json:"former,omitempty"`
}

// MemcachedFormerRecord describes nodes that the current rollout has not reached.
type MemcachedFormerRecord struct {
	// templateHash is the hash of the pod template without the settings in defaults.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Hash of the pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	TemplateHash string `json:"templateHash,omitempty"`

	// argumentsHash is the hash of memcached's arguments.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Hash of the arguments",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ArgumentsHash string `json:"argumentsHash,omitempty"`

	// defaults are settings of the nodes that the operator chose.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Defaults",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Defaults MemcachedDefaults `json:"defaults,omitzero"`
}

// MemcachedDefaults are settings that the operator chose for the pods because the spec leaves them open. Settings that the spec
// determines are absent.
type MemcachedDefaults struct {
	// images are the images of the containers, by the name of the container.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Default images",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Images map[string]DefaultImage `json:"images,omitempty"`

	// memoryLimit is the memory limit of memcached's container.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Default memory limit",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

// DefaultImage is an image that the operator was installed with.
//
// +kubebuilder:validation:MaxLength=1024
type DefaultImage string
