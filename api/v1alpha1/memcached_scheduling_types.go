// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of this file are those of Kubernetes, field by field, with bounds: see ADR-0003.

// MemcachedScheduling says where the nodes may run.
type MemcachedScheduling struct {
	// nodeSelector selects the cluster nodes by their labels. kubernetes.io/os: linux is added unless that key is given.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k]) + 16).sum() <= 4096",message="spec.scheduling.nodeSelector must have at most 4096 characters, with 16 more for each pair: remove some labels"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations allow cluster nodes with matching taints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// affinity is the affinity and anti-affinity of the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Affinity *Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the pods. Default: a soft spread over hosts and over zones. A constraint without a
	// labelSelector is about the pods of this Memcached; an empty one, {}, is about all pods of the namespace. matchLabelKeys
	// has no default: add pod-template-hash to spread the pods of each rollout among themselves.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.map(t, size(bytes(t.topologyKey)) + (has(t.labelSelector) ? (has(t.labelSelector.matchLabels) ? t.labelSelector.matchLabels.map(k, size(bytes(k)) + size(bytes(t.labelSelector.matchLabels[k])) + 16).sum() : 0) + (has(t.labelSelector.matchExpressions) ? t.labelSelector.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) : 0) + (has(t.matchLabelKeys) ? t.matchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0)).sum() <= 4096",message="spec.scheduling.topologySpreadConstraints must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the PriorityClass of the pods. One whose name starts with system- is refused, unless the operator
	// runs with --allow-system-priority-classes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.scheduling.priorityClassName must be the name of a PriorityClass: lowercase letters, digits, '-' and '.', starting and ending with a letter or a digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PriorityClass",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Toleration allows cluster nodes with a matching taint.
type Toleration struct {
	// key of the taint. Empty with the operator Exists: every taint.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`

	// operator is how key and value are compared with those of the taint. Default Equal.
	// +optional
	// +kubebuilder:validation:Enum=Exists;Equal;Lt;Gt
	Operator corev1.TolerationOperator `json:"operator,omitempty"`

	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// effect of the taint. Empty: every effect.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`

	// tolerationSeconds is for how long a taint with the effect NoExecute is tolerated. Default: for ever.
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// Affinity is the affinity and anti-affinity of the pods.
type Affinity struct {
	// nodeAffinity says which cluster nodes the pods want.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.requiredDuringSchedulingIgnoredDuringExecution) ? self.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.map(t, (has(t.matchExpressions) ? t.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) + (has(t.matchFields) ? t.matchFields.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0)).sum() : 0) + (has(self.preferredDuringSchedulingIgnoredDuringExecution) ? self.preferredDuringSchedulingIgnoredDuringExecution.map(p, (has(p.preference.matchExpressions) ? p.preference.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) + (has(p.preference.matchFields) ? p.preference.matchFields.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0)).sum() : 0) <= 4096",message="spec.scheduling.affinity.nodeAffinity must have at most 4096 bytes of keys and values, with 16 more for each of them: use fewer or shorter ones"
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity says which pods of the same namespace the pods want to be near.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.requiredDuringSchedulingIgnoredDuringExecution) ? self.requiredDuringSchedulingIgnoredDuringExecution.map(t, size(bytes(t.topologyKey)) + (has(t.labelSelector) ? (has(t.labelSelector.matchLabels) ? t.labelSelector.matchLabels.map(k, size(bytes(k)) + size(bytes(t.labelSelector.matchLabels[k])) + 16).sum() : 0) + (has(t.labelSelector.matchExpressions) ? t.labelSelector.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) : 0) + (has(t.matchLabelKeys) ? t.matchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0) + (has(t.mismatchLabelKeys) ? t.mismatchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0)).sum() : 0) + (has(self.preferredDuringSchedulingIgnoredDuringExecution) ? self.preferredDuringSchedulingIgnoredDuringExecution.map(p, size(bytes(p.podAffinityTerm.topologyKey)) + (has(p.podAffinityTerm.labelSelector) ? (has(p.podAffinityTerm.labelSelector.matchLabels) ? p.podAffinityTerm.labelSelector.matchLabels.map(k, size(bytes(k)) + size(bytes(p.podAffinityTerm.labelSelector.matchLabels[k])) + 16).sum() : 0) + (has(p.podAffinityTerm.labelSelector.matchExpressions) ? p.podAffinityTerm.labelSelector.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) : 0) + (has(p.podAffinityTerm.matchLabelKeys) ? p.podAffinityTerm.matchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0) + (has(p.podAffinityTerm.mismatchLabelKeys) ? p.podAffinityTerm.mismatchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0)).sum() : 0) <= 4096",message="spec.scheduling.affinity.podAffinity must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity says which pods of the same namespace the pods want to be away from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.requiredDuringSchedulingIgnoredDuringExecution) ? self.requiredDuringSchedulingIgnoredDuringExecution.map(t, size(bytes(t.topologyKey)) + (has(t.labelSelector) ? (has(t.labelSelector.matchLabels) ? t.labelSelector.matchLabels.map(k, size(bytes(k)) + size(bytes(t.labelSelector.matchLabels[k])) + 16).sum() : 0) + (has(t.labelSelector.matchExpressions) ? t.labelSelector.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) : 0) + (has(t.matchLabelKeys) ? t.matchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0) + (has(t.mismatchLabelKeys) ? t.mismatchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0)).sum() : 0) + (has(self.preferredDuringSchedulingIgnoredDuringExecution) ? self.preferredDuringSchedulingIgnoredDuringExecution.map(p, size(bytes(p.podAffinityTerm.topologyKey)) + (has(p.podAffinityTerm.labelSelector) ? (has(p.podAffinityTerm.labelSelector.matchLabels) ? p.podAffinityTerm.labelSelector.matchLabels.map(k, size(bytes(k)) + size(bytes(p.podAffinityTerm.labelSelector.matchLabels[k])) + 16).sum() : 0) + (has(p.podAffinityTerm.labelSelector.matchExpressions) ? p.podAffinityTerm.labelSelector.matchExpressions.map(e, size(bytes(e.key)) + 16 + (has(e.values) ? e.values.map(v, size(bytes(v)) + 16).sum() : 0)).sum() : 0) : 0) + (has(p.podAffinityTerm.matchLabelKeys) ? p.podAffinityTerm.matchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0) + (has(p.podAffinityTerm.mismatchLabelKeys) ? p.podAffinityTerm.mismatchLabelKeys.map(k, size(bytes(k)) + 16).sum() : 0)).sum() : 0) <= 4096",message="spec.scheduling.affinity.podAntiAffinity must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity says which cluster nodes the pods want.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution must be met.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are wishes: the cluster node with the largest sum of weights is taken.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects cluster nodes.
type NodeSelector struct {
	// nodeSelectorTerms: one of them must be met.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// PreferredSchedulingTerm is a wish.
type PreferredSchedulingTerm struct {
	// weight of the wish, from 1 to 100.
	// +required
	Weight int32 `json:"weight"`

	// preference is which cluster nodes are wanted.
	// +required
	Preference NodeSelectorTerm `json:"preference"`
}

// NodeSelectorTerm selects cluster nodes that meet all of its requirements.
type NodeSelectorTerm struct {
	// matchExpressions are about the labels of a cluster node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`

	// matchFields are about the fields of a cluster node: its metadata.name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty"`
}

// NodeSelectorRequirement is what a label or field of a cluster node must be.
type NodeSelectorRequirement struct {
	// key of the label, or name of the field.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is how the values are compared.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// values to compare with.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// PodAffinity says which pods of the same namespace matter.
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution must all be met.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are wishes: the cluster node with the largest sum of weights is taken.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodAffinityTerm is a wish.
type WeightedPodAffinityTerm struct {
	// weight of the wish, from 1 to 100.
	// +required
	Weight int32 `json:"weight"`

	// podAffinityTerm is the wish.
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects pods of the namespace of the Memcached. A term about another namespace could keep the pods there
// from running, so there is none.
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

	// topologyKey is the label of cluster nodes that says which of them are the same place.
	// +required
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// namespaceSelector must not be set: a term is about the namespace of the Memcached.
	// +optional
	NamespaceSelector *NamespaceSelector `json:"namespaceSelector,omitempty"`

	// matchLabelKeys are keys of labels whose values are taken of the pod itself, and must be the same.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`

	// mismatchLabelKeys are keys of labels whose values are taken of the pod itself, and must be others.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty"`
}

// NamespaceSelector must not be set. Whatever is in it reaches the rule that says so.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NamespaceSelector struct{}

// LabelSelector selects pods that meet all of its requirements.
type LabelSelector struct {
	// matchLabels are labels that a pod must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are about the labels of a pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is what a label of a pod must be.
type LabelSelectorRequirement struct {
	// key of the label.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is how the values are compared.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values to compare with.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}

// TopologySpreadConstraint says how evenly the pods are spread.
type TopologySpreadConstraint struct {
	// maxSkew is how many more pods one place may have than another.
	// +required
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is the label of cluster nodes that says which of them are the same place.
	// +required
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// whenUnsatisfiable is what happens to a pod otherwise.
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable"`

	// labelSelector selects the pods that are counted.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// minDomains is the least number of places.
	// +optional
	MinDomains *int32 `json:"minDomains,omitempty"`

	// nodeAffinityPolicy says whether cluster nodes count that nodeSelector and affinity rule out.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeAffinityPolicy *corev1.NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty"`

	// nodeTaintsPolicy says whether cluster nodes count whose taints are not tolerated.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeTaintsPolicy *corev1.NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty"`

	// matchLabelKeys are keys of labels whose values are taken of the pod itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}
