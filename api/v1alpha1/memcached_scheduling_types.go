// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

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
