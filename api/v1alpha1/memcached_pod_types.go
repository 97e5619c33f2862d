// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// MemcachedAgent configures the agent, which serves metrics and gives memcached its certificates and users.
type MemcachedAgent struct {
	// resources are the compute resources of the agent's container. The default is 24Mi of memory, or 32Mi with tls or auth, and a request
	// of 10m CPU, or a limit of 100m if memcached has a CPU limit.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources of the agent",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Resources MemcachedResources `json:"resources,omitzero"`
}

// MemcachedResources are the compute resources of a container in each pod.
//
// +kubebuilder:validation:XValidation:rule="{{template `requestWithinLimit` `cpu`}}",fieldPath=".requests",message="resources.requests.cpu must not be larger than resources.limits.cpu: lower the request or raise the limit"
// +kubebuilder:validation:XValidation:rule="{{template `requestWithinLimit` `memory`}}",fieldPath=".requests",message="resources.requests.memory must not be larger than resources.limits.memory: lower the request or raise the limit"
// +kubebuilder:validation:XValidation:rule="{{template `requestWithinLimit` `ephemeral-storage`}}",fieldPath=".requests",message="resources.requests.ephemeral-storage must not be larger than resources.limits.ephemeral-storage: lower the request or raise the limit"
type MemcachedResources struct {
	// limits are how much the container may use of 3 resources: cpu, memory and ephemeral-storage. The default memory limit of memcached is
	// computed from config and tls. A fraction of a CPU must be text, such as 500m or "0.5" in quotation marks; a plain 0.5 is rejected.
	// +optional
	// +kubebuilder:validation:MaxProperties=3
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage'])",message="resources.limits may hold cpu, memory and ephemeral-storage only: remove the others"
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])) && [quantity(string(self[k]))].all(q, q.compareTo(quantity('0')) >= 0 && q.compareTo(quantity('1Pi')) <= 0))",message="resources.limits must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(string(self[k])) <= 32)",message="resources.limits must hold quantities of at most 32 characters, such as memory: 256Mi or cpu: 500m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Limits",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Limits corev1.ResourceList `json:"limits,omitempty"`

	// requests are how much of the same 3 resources is reserved. The default is the limits. A memory request without a limit is also the
	// limit. A fraction of a CPU must be text, such as 500m or "0.5" in quotation marks; a plain 0.5 is rejected. In limits and requests,
	// CPU is rounded up to thousandths, and the other resources are rounded up to whole bytes.
	// +optional
	// +kubebuilder:validation:MaxProperties=3
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage'])",message="resources.requests may hold cpu, memory and ephemeral-storage only: remove the others"
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])) && [quantity(string(self[k]))].all(q, q.compareTo(quantity('0')) >= 0 && q.compareTo(quantity('1Pi')) <= 0))",message="resources.requests must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(string(self[k])) <= 32)",message="resources.requests must hold quantities of at most 32 characters, such as memory: 256Mi or cpu: 500m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Requests",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// Metadata are labels and annotations that are added to an object.
//
// +kubebuilder:validation:XValidation:rule="!has(self.labels) || self.labels.all(k, !({{template `reservedLabel`}}))",fieldPath=".labels",message="labels must not hold app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/managed-by, pod-template-hash or a key that starts with cache.example.com/: they belong to the operator, remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.labels) || self.labels.all(k, !({{template `clusterLabel`}}))",fieldPath=".labels",message="labels must not hold k8s-app or a key under kubernetes.io or k8s.io, except app.kubernetes.io: they have a meaning to the cluster, remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.labels) || self.labels.all(k, {{template `qualifiedName` `a-z0-9`}})",fieldPath=".labels",message="labels must have keys such as team or example.com/team: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.'"
// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || self.annotations.all(k, !k.startsWith('cache.example.com/'))",fieldPath=".annotations",message="annotations must not hold a key that starts with cache.example.com/: they belong to the operator, remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || self.annotations.all(k, {{template `qualifiedName` `A-Za-z0-9`}})",fieldPath=".annotations",message="annotations must have keys such as team or example.com/team: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.'"
// +kubebuilder:validation:XValidation:rule="(has(self.labels) ? self.labels.map(k, size(bytes(k)) + size(bytes(self.labels[k]))).sum() : 0) + (has(self.annotations) ? self.annotations.map(k, size(bytes(k)) + size(bytes(self.annotations[k]))).sum() : 0) <= 16384",message="labels and annotations must have at most 16384 bytes together, their keys included: remove or shorten some"
type Metadata struct {
	// labels are added to the object: at most 64, with values of at most 63 characters. These keys cannot be set: k8s-app,
	// pod-template-hash, app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/managed-by, and keys that start with
	// cache.example.com/. Keys under kubernetes.io and k8s.io cannot be set either, except others under app.kubernetes.io. The operator
	// sets app.kubernetes.io/component (cache or proxy) and app.kubernetes.io/part-of (memcached) unless labels have these keys.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to the object: at most 64, with values of at most 8192 characters. Keys that start with
	// cache.example.com/ cannot be set.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label: at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or
// a digit, or empty.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",message="the value of a label must be at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or a digit, or empty"
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=8192
type AnnotationValue string
