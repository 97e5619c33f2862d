// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedNetworkPolicy configures the NetworkPolicy of the nodes. It has an effect only if the network plugin of the cluster
// enforces NetworkPolicies.
type MemcachedNetworkPolicy struct {
	// enabled is whether there is a NetworkPolicy, which lets only the clients in spec.networkPolicy.from connect. The default is
	// true if from or metricsFrom is given, and false otherwise. A new Memcached starts no nodes before the NetworkPolicy exists.
	// While the Memcached is Degraded, the NetworkPolicy may lack the latest change.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Enabled *bool `json:"enabled,omitempty"`

	// from are the clients that may connect, in 1 to 8 groups. The default is all pods of the namespace. The kubelet's probes are
	// always allowed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.map(p, {{template `selector` `p.podSelector`}} + {{template `selector` `p.namespaceSelector`}}).sum() <= 4096",message="spec.networkPolicy.from must have at most 4096 bytes of keys and values in its selectors, with 16 more for each pair, key and value: use fewer or shorter ones"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="From",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	From []NetworkPolicyPeer `json:"from,omitempty"`

	// metricsFrom are the clients that may read the metrics of the agents, in 1 to 8 groups. The default is all pods of the
	// namespace. If only metricsFrom is given, all pods of the namespace may still connect to memcached. It needs workload
	// StatefulSet, whose pods have metrics.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.map(p, {{template `selector` `p.podSelector`}} + {{template `selector` `p.namespaceSelector`}}).sum() <= 4096",message="spec.networkPolicy.metricsFrom must have at most 4096 bytes of keys and values in its selectors, with 16 more for each pair, key and value: use fewer or shorter ones"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics from",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MetricsFrom []NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}

// NetworkPolicyPeer is a group of clients: pods, or a range of IP addresses.
//
// +kubebuilder:validation:XValidation:rule="has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",message="spec.networkPolicy: from[] and metricsFrom[] must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
type NetworkPolicyPeer struct {
	// podSelector selects pods by their labels, in the namespaces that namespaceSelector selects, or in the namespace of the resource
	// if there is no namespaceSelector. An empty one, {}, selects all these pods.
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`

	// namespaceSelector selects namespaces by their labels. An empty one, {}, selects all namespaces. Without podSelector, all pods
	// of these namespaces may connect.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`

	// ipBlock is a range of IP addresses.
	// +optional
	IPBlock *IPBlock `json:"ipBlock,omitempty"`
}

// IPBlock is a range of IP addresses, except some smaller ranges.
type IPBlock struct {
	// cidr is the range, such as 10.0.0.0/8 or 2001:db8::/32, in at most 43 characters. All bits after the prefix must be 0.
	// +required
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.matches('^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])/(3[0-2]|[12]?[0-9])$|^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$')",message="spec.networkPolicy: ipBlock.cidr must be a range of IP addresses, such as 10.0.0.0/8 or 2001:db8::/32"
	CIDR string `json:"cidr"`

	// except are at most 8 smaller ranges within cidr, each in at most 43 characters, whose addresses may not connect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])/(3[0-2]|[12]?[0-9])$|^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$')",message="spec.networkPolicy: ipBlock.except[] must be a range of IP addresses, such as 10.1.0.0/16"
	Except []string `json:"except,omitempty"`
}

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
