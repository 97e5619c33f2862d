// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedProxySpec is the desired state of a MemcachedProxy.
type MemcachedProxySpec struct {
	// size is the number of proxies, from 0 to 1000. The default is 2. kubectl scale and a HorizontalPodAutoscaler change it. A change
	// moves no key, because each proxy uses all nodes and stores nothing.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// pools are the Memcacheds of the namespace that the proxies use, from 1 to 3. With several, each holds a copy of all items, and
	// all should have the same size. Proxies write to all of them, and read from the first one that has the key. Each must have
	// workload StatefulSet and no auth; with tls, its plaintext must be Enabled. With several pools, each must have storage Memory.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Pools",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:arrayFieldGroup:pools"}
	Pools []MemcachedProxyPool `json:"pools"`

	// image is an image with memcached 1.6.45 or newer on its PATH, in at most 512 characters. The default is the image that the operator
	// was installed with. A newer default is adopted by the next rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^((([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])([.]([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\\\\[[a-fA-F0-9]*:[a-fA-F0-9:]*\\\\])(:[0-9]+)?/)?[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64}|@sha512:[0-9a-f]{128})?$')",message="spec.image must be an image reference such as memcached:1.6.45, registry.example.com:5000/team/memcached:1.6.45 or memcached@sha256:<64 hexadecimal digits>"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-f0-9]{64}$')",message="spec.image must name a repository, such as memcached, and not the id of an image"
	// +kubebuilder:validation:XValidation:rule="self.matches('^(localhost|[^/]*[.:A-Z][^/]*)/') ? !self.matches('^[^/]*/[^:@]{248}') : !self.matches('^[^:@]{248}')",message="spec.image must not have a repository of more than 247 characters: use a shorter one"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// imagePullPolicy is when the image is pulled: Always, IfNotPresent or Never. The default is IfNotPresent.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:imagePullPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets are at most 16 Secrets for the registries of the images.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="self.name != ''",message="spec.imagePullSecrets[].name must be the name of a Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// config is the configuration of each proxy. A change replaces the proxies.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Configuration",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config"}
	Config MemcachedProxyConfig `json:"config,omitzero"`

	// resources are the compute resources of each proxy. A HorizontalPodAutoscaler by CPU needs a CPU request.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources MemcachedResources `json:"resources,omitzero"`

	// scheduling is where the proxies may run.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scheduling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Scheduling MemcachedScheduling `json:"scheduling,omitzero"`

	// podMetadata are labels and annotations of the pods: a change replaces them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || self.annotations.all(k, !({{template `securityProfile`}}))",fieldPath=".annotations",message="spec.podMetadata.annotations must not hold a key of container.apparmor.security.beta.kubernetes.io or seccomp.security.alpha.kubernetes.io, which would take a security profile away: remove it"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod metadata",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podMetadata","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodMetadata Metadata `json:"podMetadata,omitzero"`

	// service is the Service through which clients reach all proxies at one address.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:service","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Service MemcachedService `json:"service,omitzero"`

	// podDisruptionBudget limits how many proxies a drain may stop at once.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PodDisruptionBudget",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodDisruptionBudget MemcachedPodDisruptionBudget `json:"podDisruptionBudget,omitzero"`

	// networkPolicy lets only some clients connect. If it is absent, all may.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="NetworkPolicy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *MemcachedNetworkPolicy `json:"networkPolicy,omitempty"`

	// tls lets clients connect to the proxies with TLS, at port 11212. The proxies always connect to the nodes without TLS. An
	// agent in each pod gives the certificate to memcached. Enabling or disabling TLS replaces the proxies.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls"}
	TLS *MemcachedTLS `json:"tls,omitempty"`
}

// MemcachedProxyPool is a Memcached that proxies use.
type MemcachedProxyPool struct {
	// name is the name of the Memcached, in at most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="spec.pools[].name must be the name of a Memcached of the namespace: lowercase letters, digits and '-', starting with a letter"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memcached",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:arrayFieldGroup:pools","urn:alm:descriptor:com.tectonic.ui:text"}
	Name string `json:"name"`
}

// MemcachedProxyConfig is the configuration of a proxy.
type MemcachedProxyConfig struct {
	// maxConnections is how many connections clients can have open to each proxy at once, from 1 to 65536. The default is 1024. The
	// limit of the proxy is somewhat higher. A client beyond that limit gets an error and is disconnected.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum of connections",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:number"}
	MaxConnections int32 `json:"maxConnections,omitempty"`

	// threads is the number of worker threads, from 1 to 64. Each thread has a connection to each node. The default is the CPU
	// limit rounded up, or 1 without a CPU limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Worker threads",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:number"}
	Threads int32 `json:"threads,omitempty"`
}

// MemcachedProxy is one address for the nodes of a cache. Its proxies find the node of each key. The operator creates a Deployment
// for it, with a Service, a PodDisruptionBudget, and a ConfigMap that tells the proxies the nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=memcachedproxies,shortName=memcp
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Pool",type=string,JSONPath=`.spec.pools[0].name`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Nodes",type=integer,priority=1,JSONPath=`.status.routes.nodes`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",fieldPath=".metadata",message="metadata.name must be the name of a Service: at most 63 lowercase letters, digits and '-', starting with a letter and ending with a letter or digit"
// +kubebuilder:validation:XValidation:rule="!self.spec.pools.exists(p, p.name == self.metadata.name)",fieldPath=".spec.pools",message="spec.pools[].name must not be the name of the MemcachedProxy, whose objects bear the same names as those of a Memcached: give the MemcachedProxy another name"
// +operator-sdk:csv:customresourcedefinitions:displayName="MemcachedProxy",resources={{Deployment,v1},{ConfigMap,v1},{Service,v1},{PodDisruptionBudget,v1},{NetworkPolicy,v1},{Pod,v1},{Event,v1}}
type MemcachedProxy struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec MemcachedProxySpec `json:"spec"`

	// status is the observed state. Until an operator has handled the MemcachedProxy, observedGeneration is -1.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status MemcachedProxyStatus `json:"status,omitzero"`
}

// MemcachedProxyList is a list of MemcachedProxy.
//
// +kubebuilder:object:root=true
type MemcachedProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []MemcachedProxy `json:"items"`
}
