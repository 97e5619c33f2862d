// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// The types below, except MemcachedScheduling, and those in memcached_affinity_types.go have the same fields as Kubernetes' own
// types, but limit the values: see ADR-0003.

// MemcachedScheduling is where the pods may run.
type MemcachedScheduling struct {
	// nodeSelector selects cluster nodes that have all of these labels, at most 64. The operator adds kubernetes.io/os: linux
	// unless that key is given.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k]) + 16).sum() <= 4096",message="spec.scheduling.nodeSelector must have at most 4096 characters, with 16 more for each pair: remove some labels"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations allow the pods to run on cluster nodes with matching taints. There can be at most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// affinity is where the pods must or should run, by the labels of cluster nodes and by the pods that run there.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Affinity *Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the pods. There can be at most 8. The default is a soft spread over hosts and over zones.
	// Without a labelSelector, a constraint counts the pods of this Memcached or MemcachedProxy. With an empty labelSelector, {},
	// it counts all pods of the namespace. To spread each rollout separately, add pod-template-hash (for a Deployment) or
	// controller-revision-hash (for a StatefulSet) to matchLabelKeys.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.map(t, {{template `spreadConstraint` `t`}}).sum() <= 4096",message="spec.scheduling.topologySpreadConstraints must have at most 4096 bytes of keys and values, with 16 more for each pair, key and value: use fewer or shorter ones"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology spread constraints",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the name of the PriorityClass of the pods, in at most 253 characters. The default is the cluster's. If
	// the name starts with system-, no pods are created, unless the operator runs with --allow-system-priority-classes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.scheduling.priorityClassName must be the name of a PriorityClass: lowercase letters, digits, '-' and '.', starting and ending with a letter or a digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PriorityClass",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Toleration allows pods to run on cluster nodes with a matching taint.
type Toleration struct {
	// key is the key of the taint, in at most 317 characters. The default is every taint: the field operator must then be Exists.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`

	// operator is how the value of the taint is compared with value: Equal, Exists (any value matches), Lt or Gt (integers). The
	// default is Equal.
	// +optional
	// +kubebuilder:validation:Enum=Exists;Equal;Lt;Gt
	Operator corev1.TolerationOperator `json:"operator,omitempty"`

	// value is the value of the taint, in at most 63 characters. The default is the empty value.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// effect is the effect of the taint: NoSchedule, PreferNoSchedule or NoExecute. The default is every effect.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`

	// tolerationSeconds is how many seconds a taint with the effect NoExecute is tolerated. The default is forever.
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// TopologySpreadConstraint limits how unevenly pods are spread over places, such as hosts or zones.
type TopologySpreadConstraint struct {
	// maxSkew is how many more pods a place may have than the place with the fewest pods, from 1 to 1000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is the key of a label of cluster nodes, such as topology.kubernetes.io/zone, in at most 317 characters. Cluster
	// nodes with the same value of this label are one place.
	// +required
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// whenUnsatisfiable is what happens to a pod that would exceed maxSkew. With DoNotSchedule, it waits. With ScheduleAnyway, it
	// runs, but places with fewer pods are preferred.
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable"`

	// labelSelector selects the pods that are counted.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// minDomains is the number of places, from 1 to 1000, over which the pods should be spread. While fewer places are available,
	// maxSkew limits the pods of each place as if another place had no pods. The default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinDomains *int32 `json:"minDomains,omitempty"`

	// nodeAffinityPolicy is whether to count cluster nodes that nodeSelector or affinity excludes. The default is Honor: they are not
	// counted. With Ignore, they are.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeAffinityPolicy *corev1.NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty"`

	// nodeTaintsPolicy is whether to count cluster nodes with taints that the pods do not tolerate. The default is Ignore: they are
	// counted. With Honor, they are not.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeTaintsPolicy *corev1.NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty"`

	// matchLabelKeys are at most 8 keys of labels, each in at most 317 characters. Only pods that have the same values of these
	// labels as the new pod are counted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}
