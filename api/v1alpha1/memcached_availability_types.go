// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// MemcachedPodDisruptionBudget limits how many nodes or proxies a drain or another voluntary eviction may stop at once.
type MemcachedPodDisruptionBudget struct {
	// enabled is whether there is a PodDisruptionBudget. The default is true.
	// +optional
	// +kubebuilder:default=true
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Enabled *bool `json:"enabled,omitempty"`

	// maxUnavailable is how many nodes may be missing after an eviction: a number from 0 to 1000, or a percentage of size
	// from 0% to 100%, rounded up. The default is 1. With 0, no cluster node with a ready node can be drained. For proxies, it is 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="{{template `numberOrPercentage`}}",message="spec.podDisruptionBudget.maxUnavailable must be a number from 0 to 1000 or a percentage from 0% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// MemcachedUpdateStrategy is how nodes are replaced. The default is one at a time, without an additional node, because an
// additional node would remap keys when it comes and again when it goes. If a Deployment has only one node, its replacement starts
// first.
type MemcachedUpdateStrategy struct {
	// maxUnavailable is how many nodes may be missing during a rollout: a number from 0 to 1000, or a percentage of size from 0% to
	// 100%, rounded down. The default is 1, or 0 for a Deployment with a size of 1. With 0, one additional node starts before an old
	// one stops, which a StatefulSet cannot do.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="{{template `numberOrPercentage`}}",message="spec.updateStrategy.maxUnavailable must be a number from 0 to 1000 or a percentage from 0% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minReadySeconds is how many seconds, from 0 to 3600, a new node must be ready before the next one is replaced, so that
	// clients can fill the new node first. The default is 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Minimum of ready seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// podUpdatePolicy is how pods of a StatefulSet get a new spec.image or spec.resources. The default is Recreate, which replaces the
	// pods. InPlaceOrRecreate changes memcached's container in the running pods, but needs a permission that the operator lacks by
	// default: see docs/concepts/changes.md. With a new image, memcached restarts. It then keeps its items only with spec.storage.type
	// MemoryFile and the same version of memcached. Whatever else only a new pod can have always replaces the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod update policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:select:Recreate","urn:alm:descriptor:com.tectonic.ui:select:InPlaceOrRecreate","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`
}

// PodUpdatePolicy is how pods get a new image of memcached and new resources.
//
// +kubebuilder:validation:Enum=Recreate;InPlaceOrRecreate
type PodUpdatePolicy string

// Values of PodUpdatePolicy, named as in the VerticalPodAutoscaler's updateMode.
const (
	// PodUpdateRecreate replaces pods.
	PodUpdateRecreate PodUpdatePolicy = "Recreate"
	// PodUpdateInPlaceOrRecreate changes running pods, and replaces those that the cluster cannot change.
	PodUpdateInPlaceOrRecreate PodUpdatePolicy = "InPlaceOrRecreate"
)

// MemcachedGracefulShutdown is how a node stops.
type MemcachedGracefulShutdown struct {
	// preStopDelaySeconds is how many seconds, from 0 to 300, a deleted node continues to serve, so that clients and DNS can notice
	// the deletion. The default is 5. The termination grace period of the pod is 30 seconds longer.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Delay before the stop",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:gracefulShutdown","urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PreStopDelaySeconds *int32 `json:"preStopDelaySeconds,omitempty"`
}
