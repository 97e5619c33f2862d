// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// MemcachedNetworkPolicy is the NetworkPolicy of the nodes and proxies. It has an effect only if the network plugin of the cluster
// enforces NetworkPolicies.
type MemcachedNetworkPolicy struct {
	// from are the clients that may connect, in at least 1 group. The default is all pods of the namespace. With spec.proxy, they may
	// connect to the proxies, and only the proxies to the nodes. The kubelet's probes are always allowed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:XValidation:rule="has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",message="spec.networkPolicy.from[] must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="From",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`

	// metricsFrom are the clients that may read the metrics of the agents, in at least 1 group. The default is all pods of the
	// namespace. It needs workload StatefulSet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:XValidation:rule="has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",message="spec.networkPolicy.metricsFrom[] must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics from",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MetricsFrom []networkingv1.NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}
