// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

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

// MemcachedScheduling is where the pods may run.
type MemcachedScheduling struct {
	// nodeSelector selects cluster nodes that have all of these labels. The operator adds kubernetes.io/os: linux unless that key
	// is given.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations allow the pods to run on cluster nodes with matching taints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:XValidation:rule="!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",message="spec.scheduling.tolerations[].value must not be set with the operator Exists: remove one of the two"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity is where the pods must or should run, by the labels of cluster nodes and by the pods that run there. Its
	// terms must not have namespaces or a namespaceSelector: they select only pods of the same namespace. Otherwise, an anti-affinity
	// could keep the pods of others away from cluster nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `ownNamespace` `podAffinity`}} && {{template `ownNamespace` `podAntiAffinity`}}",message="spec.scheduling.affinity must have no terms with namespaces or a namespaceSelector, as a Memcached has no say about the pods of others: remove them"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the pods. The default is a soft spread (ScheduleAnyway) over hosts and over zones. Without a
	// labelSelector, a constraint counts the pods of this resource, and with {} all of the namespace. To spread each rollout
	// separately, add pod-template-hash (Deployment) or controller-revision-hash (StatefulSet) to matchLabelKeys.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the name of the PriorityClass of the pods, in at most 253 characters. The default is the cluster's. If
	// the name starts with system-, no pods are created, unless the operator runs with --allow-system-priority-classes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.scheduling.priorityClassName must be the name of a PriorityClass: lowercase letters, digits, '-' and '.', starting and ending with a letter or a digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PriorityClass",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// MemcachedNetworkPolicy is the NetworkPolicy of the nodes and proxies. It has an effect only if the network plugin of the cluster
// enforces NetworkPolicies.
type MemcachedNetworkPolicy struct {
	// from are the clients that may connect, in at least 1 group. The default is all pods of the namespace. With spec.proxy, they may
	// connect to the proxies, and only the proxies to the nodes. The kubelet's probes are always allowed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:XValidation:rule="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",message="spec.networkPolicy.from[] must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="From",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`

	// metricsFrom are the clients that may read the metrics of the agents, in at least 1 group. The default is all pods of the
	// namespace. It needs workload StatefulSet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:XValidation:rule="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",message="spec.networkPolicy.metricsFrom[] must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics from",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MetricsFrom []networkingv1.NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}

// MemcachedStorage is where a node keeps its items.
type MemcachedStorage struct {
	// type is Memory or MemoryFile. The default is Memory: memcached's own memory, which is empty after a restart. With MemoryFile
	// (memcached -e), the items are in a memory volume of the pod. They survive a restart of memcached for restartedAt or a new
	// configuration, unless config.memory, config.maxItemSize or storage.type changes. A new pod is empty. MemoryFile needs workload
	// StatefulSet and config.memory of at least 128Mi. A delete that a client sends while the item's node restarts has no effect, so
	// the item stays in the cache.
	// +optional
	// +kubebuilder:validation:Enum=Memory;MemoryFile
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:select:Memory","urn:alm:descriptor:com.tectonic.ui:select:MemoryFile","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Type StorageType `json:"type,omitempty"`
}

// StorageType is where a node keeps its items.
type StorageType string

// Places for items.
const (
	// StorageMemory is memcached's own memory.
	StorageMemory StorageType = "Memory"
	// StorageMemoryFile is a file in a memory volume of the pod.
	StorageMemoryFile StorageType = "MemoryFile"
)
