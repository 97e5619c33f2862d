// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Affinity is where pods must or should run, by the labels of cluster nodes and by the pods that run there.
type Affinity struct {
	// nodeAffinity selects the cluster nodes on which the pods must or should run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `nodeAffinity`}} <= 4096",message="spec.scheduling.affinity.nodeAffinity must have at most 4096 bytes of keys and values, with 16 more for each of them: use fewer or shorter ones"
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity selects pods of the same namespace. The new pods must or should run near them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `podAffinity`}} <= 4096",message="spec.scheduling.affinity.podAffinity must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity selects pods of the same namespace. The new pods must not or should not run near them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="{{template `podAffinity`}} <= 4096",message="spec.scheduling.affinity.podAntiAffinity must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity selects the cluster nodes on which pods must or should run.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution selects the only cluster nodes on which a new pod may run.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are at most 8 preferred terms. The scheduler prefers cluster nodes that meet
	// terms with a large sum of weights.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredNodeTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects cluster nodes.
type NodeSelector struct {
	// nodeSelectorTerms are at most 8 terms, of which a cluster node must meet at least one.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// PreferredNodeTerm is a preferred term with its weight.
type PreferredNodeTerm struct {
	// weight is how much the term counts, from 1 to 100.
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

	// matchFields are at most 2 requirements for fields of a cluster node. The only field that can be used is metadata.name.
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

	// operator is how the label or field is compared with the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// values are at most 32 values to compare with, each in at most 253 characters: at least one for In and NotIn, one integer for
	// Gt and Lt, none for Exists and DoesNotExist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// PodAffinity has required and preferred terms, which select pods of the same namespace.
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are at most 8 terms. A new pod runs only where it meets all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are at most 8 preferred terms. The scheduler prefers cluster nodes that meet
	// terms with a large sum of weights.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodTerm is a preferred term with its weight.
type WeightedPodTerm struct {
	// weight is how much the term counts, from 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podAffinityTerm is the preferred term.
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects pods of the same namespace. Other namespaces are not allowed: with an anti-affinity term, one namespace
// could then keep the pods of another away from cluster nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.namespaces) || size(self.namespaces) == 0",fieldPath=".namespaces",message="spec.scheduling.affinity: the namespaces of a term must not be set, as a Memcached has no say about the pods of others: remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.namespaceSelector)",fieldPath=".namespaceSelector",message="spec.scheduling.affinity: the namespaceSelector of a term must not be set, as a Memcached has no say about the pods of others: remove it"
type PodAffinityTerm struct {
	// labelSelector selects pods by their labels. An empty one, {}, selects all pods of the namespace. Without a labelSelector, the
	// term selects no pods.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// namespaces must not be set: a term selects only pods of the same namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// topologyKey is the key of a label of cluster nodes, such as kubernetes.io/hostname, in at most 317 characters. Pods are near
	// each other if their cluster nodes have the same value of this label.
	// +required
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// namespaceSelector must not be set: a term selects only pods of the same namespace.
	// +optional
	NamespaceSelector *NamespaceSelector `json:"namespaceSelector,omitempty"`

	// matchLabelKeys are at most 8 keys of labels, each in at most 317 characters. The term selects only pods that have the same
	// values of these labels as the new pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`

	// mismatchLabelKeys are at most 8 keys of labels, each in at most 317 characters. The term selects only pods that do not
	// have the new pod's values of these labels.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty"`
}

// NamespaceSelector must not be set. Its schema accepts any content, so that the refusal comes from the rule of PodAffinityTerm,
// whose message names the fix.
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

	// operator is how the label is compared with the values: In, NotIn, Exists or DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are at most 32 values to compare with, each in at most 63 characters: at least one for In and NotIn, none for Exists
	// and DoesNotExist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}
