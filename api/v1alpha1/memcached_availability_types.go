// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// MemcachedPodDisruptionBudget configures the PodDisruptionBudget.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxUnavailable) && has(self.minAvailable))",message="spec.podDisruptionBudget must have either maxUnavailable or minAvailable, not both: remove one"
type MemcachedPodDisruptionBudget struct {
	// enabled is whether there is a PodDisruptionBudget. The default is true.
	// +optional
	// +kubebuilder:default=true
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Enabled *bool `json:"enabled,omitempty"`

	// maxUnavailable is how many nodes may be missing after an eviction, from 0 to 1000, or from 0% to 100% of size, rounded up. The
	// default is 1, unless minAvailable is given. With 0, no cluster node with a memcached node can be drained.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="{{template `numberOrPercentage`}}",message="spec.podDisruptionBudget.maxUnavailable must be a number from 0 to 1000 or a percentage from 0% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minAvailable is how many nodes must remain after an eviction, from 0 to 1000, or from 0% to 100% of size, rounded up. The
	// default is to use maxUnavailable. Only one of the two can be given. If it reaches size, no cluster node with a memcached node
	// can be drained.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="{{template `numberOrPercentage`}}",message="spec.podDisruptionBudget.minAvailable must be a number from 0 to 1000 or a percentage from 0% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Minimum available",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}

// MemcachedUpdateStrategy is how nodes are replaced. The default is one at a time without a surge, because each additional node
// remaps keys twice. For the only node of a Deployment, the new one starts first.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxSurge) && has(self.maxUnavailable) && string(self.maxSurge) in ['0', '0%'] && string(self.maxUnavailable) in ['0', '0%'])",message="spec.updateStrategy.maxSurge and maxUnavailable must not both be 0: no node could ever be replaced, raise one"
type MemcachedUpdateStrategy struct {
	// maxUnavailable is how many nodes may be missing during a rollout, from 0 to 1000, or from 0% to 100% of size, rounded down.
	// The default is 1, or 0 if size is 1 or maxSurge is above 0. With a StatefulSet, the default is 1, and 0 is refused. Before
	// Kubernetes 1.37, a StatefulSet replaces one node at a time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="{{template `numberOrPercentage`}}",message="spec.updateStrategy.maxUnavailable must be a number from 0 to 1000 or a percentage from 0% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is how many nodes may be started above size during a rollout, from 0 to 1000, or from 0% to 100% of size, rounded up.
	// The default is 0, or 1 if size is 1 or maxUnavailable is 0. A StatefulSet has none.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="{{template `numberOrPercentage`}}",message="spec.updateStrategy.maxSurge must be a number from 0 to 1000 or a percentage from 0% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum surge",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// minReadySeconds is how many seconds, from 0 to 3600, a new node must be ready before the next one is replaced, so that
	// it can fill. The default is 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Minimum of ready seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// podUpdatePolicy is how pods of a StatefulSet change to a new image of memcached or the agent, or to new spec.resources. The
	// default is ReCreate, which replaces them. With InPlaceIfPossible, pods keep their names and addresses, and with
	// spec.storage.type MemoryFile and the same version of memcached their keys. InPlaceIfPossible needs a permission
	// that the operator lacks by default: see docs/concepts/changes.md. Every other change of the pods replaces them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod update policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:select:ReCreate","urn:alm:descriptor:com.tectonic.ui:select:InPlaceIfPossible","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`
}

// PodUpdatePolicy is how the image and the resources of pods change.
//
// +kubebuilder:validation:Enum=ReCreate;InPlaceIfPossible
type PodUpdatePolicy string

// The policies, in the words of OpenKruise. InPlaceOnly is reserved.
const (
	// PodUpdateReCreate replaces pods.
	PodUpdateReCreate PodUpdatePolicy = "ReCreate"
	// PodUpdateInPlaceIfPossible changes running pods, as far as the cluster can.
	PodUpdateInPlaceIfPossible PodUpdatePolicy = "InPlaceIfPossible"
)

// MemcachedGracefulShutdown is how a node stops.
type MemcachedGracefulShutdown struct {
	// preStopDelaySeconds is how many seconds, from 0 to 300, a deleted node continues to serve, so that clients and DNS notice
	// first. The default is 5. The termination grace period is 30 seconds longer.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Delay before the stop",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:gracefulShutdown","urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PreStopDelaySeconds *int32 `json:"preStopDelaySeconds,omitempty"`
}
