// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Affinity is the affinity and anti-affinity of the pods.
type Affinity struct {
	// nodeAffinity is about the cluster nodes on which the pods run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `nodeAffinity`}} <= 4096",message="spec.scheduling.affinity.nodeAffinity must have at most 4096 bytes of keys and values, with 16 more for each of them: use fewer or shorter ones"
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity is about pods of the same namespace that the pods should be near.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `podAffinity`}} <= 4096",message="spec.scheduling.affinity.podAffinity must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity is about pods of the same namespace that the pods should be away from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `podAffinity`}} <= 4096",message="spec.scheduling.affinity.podAntiAffinity must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity is about the cluster nodes on which the pods run.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution must be met.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are at most 8 preferred terms. The cluster node with the largest sum of
	// weights is chosen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredNodeTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects cluster nodes.
type NodeSelector struct {
	// nodeSelectorTerms are at most 8 terms. One must be met.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// PreferredNodeTerm is a preferred term with its weight.
type PreferredNodeTerm struct {
	// weight is the weight of the term, from 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// preference selects the preferred cluster nodes.
	// +required
	Preference NodeSelectorTerm `json:"preference"`
}

// NodeSelectorTerm selects cluster nodes that meet all of its requirements.
type NodeSelectorTerm struct {
	// matchExpressions are at most 8 requirements for labels of a cluster node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`

	// matchFields are at most 2 requirements for fields of a cluster node: only metadata.name exists.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty"`
}

// NodeSelectorRequirement is a requirement for a label or field of a cluster node.
type NodeSelectorRequirement struct {
	// key is the key of the label, or the name of the field, in at most 317 characters.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is how the values are compared.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// values are at most 32 values to compare with, each in at most 253 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// PodAffinity selects pods of the same namespace.
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are at most 8 terms. All must be met.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are at most 8 preferred terms. The cluster node with the largest sum of
	// weights is chosen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodTerm is a preferred term with its weight.
type WeightedPodTerm struct {
	// weight is the weight of the term, from 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podAffinityTerm is the preferred term.
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects pods of the Memcached's namespace. Other namespaces are not allowed, because a term could keep their pods
// from running.
//
// +kubebuilder:validation:XValidation:rule="!has(self.namespaces) || size(self.namespaces) == 0",fieldPath=".namespaces",message="spec.scheduling.affinity: the namespaces of a term must not be set, as a Memcached has no say about the pods of others: remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.namespaceSelector)",fieldPath=".namespaceSelector",message="spec.scheduling.affinity: the namespaceSelector of a term must not be set, as a Memcached has no say about the pods of others: remove it"
type PodAffinityTerm struct {
	// labelSelector selects pods by their labels.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// namespaces must not be set: a term is about the namespace of the Memcached.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// topologyKey is the label of cluster nodes that names their place, in at most 317 characters.
	// +required
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// namespaceSelector must not be set: a term is about the namespace of the Memcached.
	// +optional
	NamespaceSelector *NamespaceSelector `json:"namespaceSelector,omitempty"`

	// matchLabelKeys are at most 8 keys of labels, each in at most 317 characters. Other pods must have the same values of these
	// labels as the pod itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`

	// mismatchLabelKeys are at most 8 keys of labels, each in at most 317 characters. Other pods must have other values of these
	// labels than the pod itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty"`
}

// NamespaceSelector must not be set. It accepts any content, so that the rule about it can refuse it.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NamespaceSelector struct{}

// LabelSelector selects objects that meet all of its requirements.
type LabelSelector struct {
	// matchLabels are at most 16 labels that an object must have, with values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are at most 8 requirements for the labels of an object.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is a requirement for a label.
type LabelSelectorRequirement struct {
	// key is the key of the label, in at most 317 characters.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is how the values are compared.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are at most 32 values to compare with, each in at most 63 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}
